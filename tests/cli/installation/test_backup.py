"""`oncegate backup` at a terminal."""

import io
import json
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from gateway.cli.main import run
from gateway.process.files.lock import ProcessLock
from gateway.tools.backup.archive import ArchiveReader
from tests.cli.common.test_output import documented
from tests.cli.installation.gateway import gateway_in
from tests.system.broker_process import oncegate_command


def printed(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert run(["backup", *map(str, words)]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def names_in(file: Path) -> list[str]:
    with tarfile.open(file) as opened:
        return opened.getnames()


def test_a_backup_has_configuration_users_and_identity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, file = gateway_in(tmp_path), tmp_path / "backup.tar.gz"
    text = printed(capsys, file, "--config", config)
    assert names_in(file) == [
        "manifest.json",
        "configuration/gateway.toml",
        "configuration/conf.d/gps.toml",
        "configuration/users",
        "configuration/upload.env",
        "data/gateway-id",
        "data/log/signing-key",
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "backup of gw-1" in text
    assert "It contains secrets" in text
    assert "--data adds them" in text
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_backup_with_data_needs_a_stopped_gateway(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, file = gateway_in(tmp_path), tmp_path / "backup.tar.gz"
    with ProcessLock(tmp_path / "var/broker.lock") as lock:
        lock.take()
        text = printed(capsys, file, "--data", "--config", config, code=1)
        assert "the broker works in" in text
        assert "systemctl stop oncegate.target" in text
        assert not file.exists()
        printed(capsys, file, "--config", config)
    file.unlink()
    document = json.loads(printed(capsys, file, "--data", "--json", "--config", config))
    assert set(document) == set(documented("backup"))
    assert (document["data"], document["data_files"], document["gateway"]) == (True, 1, "gw-1")
    assert "data/journal/0001" in names_in(file)


def test_with_data_of_which_there_is_none_the_option_is_not_recommended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = gateway_in(tmp_path)
    shutil.rmtree(tmp_path / "var/journal")
    text = printed(capsys, tmp_path / "backup.tar.gz", "--data", "--config", config)
    assert f"no data: {tmp_path}/var has none" in text
    assert "--data adds them" not in text


def test_a_folder_gets_a_file_named_after_the_gateway_and_the_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = gateway_in(tmp_path)
    (tmp_path / "stick").mkdir()
    printed(capsys, tmp_path / "stick", "--config", config)
    (file,) = (tmp_path / "stick").iterdir()
    assert file.name.startswith("gw-1-20")
    text = printed(capsys, tmp_path / "stick", "--config", config, code=1)
    assert "exists: choose another name" in text


def test_a_backup_can_go_through_a_pipe(tmp_path: Path) -> None:
    config = gateway_in(tmp_path)
    done = subprocess.run(
        [*oncegate_command(), "backup", "-", "--config", str(config)],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert ArchiveReader(io.BytesIO(done.stdout)).manifest.gateway == "gw-1"


def test_what_cannot_be_backed_up_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = gateway_in(tmp_path)
    (tmp_path / "etc/users").unlink()
    text = printed(capsys, tmp_path / "x", "--config", config, code=1)
    assert "is named in the configuration and missing" in text
    text = printed(capsys, tmp_path / "none/x", "--config", gateway_in(tmp_path), code=1)
    assert "none is not a directory: create it, or name another file" in text
    empty = tmp_path / "empty"
    text = printed(capsys, tmp_path / "x", "--data-dir", empty, code=1)
    assert "nothing to back up" in text


def test_a_key_that_is_made_at_each_start_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = gateway_in(tmp_path)
    with config.open("a") as file:
        file.write('[bridge]\nusername = "b"\npassword_file = "/run/credentials/secret"\n')
    text = printed(capsys, tmp_path / "backup.tar.gz", "--config", config)
    assert "# Left out: /run/credentials/secret" in text
