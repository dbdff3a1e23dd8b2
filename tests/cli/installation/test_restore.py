"""`oncegate restore`: on the same machine, on a new one, and over another gateway."""

import json
from pathlib import Path

import pytest

from gateway.broker.store.formats import FORMAT
from gateway.cli.installation import backup_files
from gateway.cli.main import run
from gateway.process.files.lock import ProcessLock
from tests.cli.common.test_output import documented
from tests.cli.installation.gateway import PASSWORDS, gateway_in


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return gateway_in(tmp_path)


@pytest.fixture
def file(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "backup.tar.gz"
    assert run(["backup", str(path), "--data", "--config", str(config)]) == 0
    capsys.readouterr()
    return path


def printed(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert run(["restore", *map(str, words)]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_it_only_shows_what_it_would_do_until_it_is_confirmed(
    file: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    users = config.with_name("users")
    users.write_text("mallory:x\n")
    text = printed(capsys, file, "--config", config)
    assert f"replaces  {users}" in text
    assert f"same      {config}" in text
    assert "Nothing was written" in text
    assert users.read_text() == "mallory:x\n"
    text = printed(capsys, file, "--yes", "--config", config)
    assert "Restored. What was replaced is kept as NAME.before-" in text
    assert users.read_text() == PASSWORDS
    (kept,) = config.parent.glob("users.before-*")
    assert kept.read_text() == "mallory:x\n"


def test_the_identity_of_another_gateway_is_asked_for(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = gateway_in(tmp_path / "other", identity="gw-2")
    text = printed(capsys, file, "--config", other, code=1)
    assert "the backup is of gateway gw-1, and this is gw-2" in text
    printed(capsys, file, "--config", other, "--no-identity", "--yes")
    assert (tmp_path / "other/var/gateway-id").read_text() == "gw-2\n"
    # Its configuration is now that of the backup, so the data directory is named.
    printed(
        capsys, file, "--config", other, "--data-dir", tmp_path / "other/var", "--identity", "--yes"
    )
    assert (tmp_path / "other/var/gateway-id").read_text() == "gw-1\n"


def test_identity_and_data_need_a_stopped_gateway(
    file: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "var/journal/0002").write_text("newer")
    with ProcessLock(tmp_path / "var/broker.lock") as lock:
        lock.take()
        text = printed(capsys, file, "--data", "--yes", "--config", config, code=1)
        assert "stop the gateway first" in text
        assert (tmp_path / "var/journal/0002").exists()
        # Configuration and users are restored while it runs.
        printed(capsys, file, "--yes", "--config", config)
    document = json.loads(printed(capsys, file, "--data", "--yes", "--json", "--config", config))
    assert set(document) == set(documented("restore"))
    assert document["restored"]
    assert not (tmp_path / "var/journal/0002").exists()
    assert (tmp_path / "var" / document["kept_as"] / "journal/0002").read_text() == "newer"


def test_a_new_machine_with_a_broken_configuration_needs_the_name_of_its_data_directory(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken/gateway.toml"
    broken.parent.mkdir()
    broken.write_text("[mqtt\n")
    text = printed(capsys, file, "--config", broken, code=2)
    assert "name the data directory with --data-dir" in text
    printed(capsys, file, "--config", broken, "--data-dir", tmp_path / "broken/var", "--yes")
    assert (tmp_path / "broken/var/gateway-id").read_text() == "gw-1\n"
    assert "password_file" in broken.read_text()


def test_files_from_elsewhere_are_left_with_a_command(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "ssl key.pem"
    outside.write_text("key")
    text = config.read_text().replace(f"{tmp_path}/etc/users", str(outside))
    config.write_text(text)
    file = tmp_path / "backup.tar.gz"
    assert run(["backup", str(file), "--config", str(config)]) == 0
    outside.unlink()
    text = printed(capsys, file, "--yes", "--config", config)
    assert f"by hand   tar -xzOf {file} 'elsewhere/1-ssl key.pem' > '{outside}'" in text
    assert not outside.exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--data",), "the backup has no data"),
        (("--data", "--no-identity"), "the backup has no data"),
    ],
)
def test_options_that_do_not_fit_the_backup_are_refused(
    config: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    expected: str,
) -> None:
    file = tmp_path / "small.tar.gz"
    assert run(["backup", str(file), "--config", str(config)]) == 0
    capsys.readouterr()
    assert expected in printed(capsys, file, *options, "--config", config, code=1)


def test_data_belongs_to_its_gateway(
    file: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, file, "--data", "--no-identity", "--config", config, code=2)
    assert "the data belongs to its gateway" in text


DEVELOPMENT = "a development version before 0.1.0 wrote it, and no release reads it"


@pytest.mark.parametrize("name", ["store", "outbox"])
def test_data_in_a_format_that_is_not_known_is_refused_with_what_helps(
    file: Path,
    config: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """The backup is of version 0.1.0. Only a version before that one may not know its formats."""
    monkeypatch.setattr(backup_files, "formats_of_data", lambda: {name: 0})
    fixes = dict.fromkeys(("0.1.0", "0.1.1", "0.10.0"), DEVELOPMENT)
    for installed, fix in {"0.0.9": "install oncegate 0.1.0 or a newer version", **fixes}.items():
        monkeypatch.setattr("gateway.process.version.installed_version", lambda at=installed: at)
        text = printed(capsys, file, "--data", "--config", config, code=1)
        assert f"its data has {name} format" in text
        assert fix in text
        assert "leave out --data" in text


def test_data_of_an_older_store_is_refused(
    file: Path, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_files, "formats_of_data", lambda: {"store": FORMAT + 1})
    text = printed(capsys, file, "--data", "--config", config, code=1)
    assert f"its data has store format {FORMAT}, and this version reads format {FORMAT + 1}" in text
    assert DEVELOPMENT in text
    assert "leave out --data" in text


def test_a_file_that_is_no_backup_is_refused(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.tar.gz"
    file.write_text("x")
    assert "not a backup of Oncegate" in printed(capsys, file, "--config", config, code=1)
    assert "No such file" in printed(capsys, tmp_path / "none", "--config", config, code=1)


def test_accounts_that_this_machine_does_not_have_are_named(
    file: Path, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "gateway.tools.backup.folders.missing_accounts"
    monkeypatch.setattr(names, lambda user, group: ["user oncegate-bridge"])
    text = printed(capsys, file, "--config", config)
    assert text.count("there is no user oncegate-bridge on this machine") == 1


def test_a_restore_warns_if_the_data_directory_was_elsewhere(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    config = tmp_path / "new/gateway.toml"
    text = printed(capsys, file, "--config", config)
    assert f"the data directory was {tmp_path}/var, and here it is {tmp_path}/new/var" in text
    assert f"add --data-dir {tmp_path}/var" in text
    text = printed(capsys, file, "--config", config, "--data-dir", tmp_path / "var")
    assert "the data directory was" not in text
    # The configuration of this machine stays, and names the data directory.
    text = printed(capsys, file, "--config", tmp_path / "etc/gateway.toml")
    assert "the data directory was" not in text
