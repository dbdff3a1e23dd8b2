"""`oncegate id` prints the gateway's id, and creates it if there is none."""

import stat
from pathlib import Path

import pytest

from gateway.cli.main import run
from gateway.tools.audit.keys_file import load_keys
from gateway.uploader.segments.signing_key import SigningKey


def test_an_id_is_made_once_in_a_directory_that_others_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "data"
    assert run(["id", "--data-dir", str(directory)]) == 0
    made = capsys.readouterr().out
    assert (directory / "gateway-id").read_text().strip() == made.strip()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o750
    assert run(["id", "--data-dir", str(directory)]) == 0
    assert capsys.readouterr().out == made


def test_an_id_that_is_configured_is_printed_and_none_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCEGATE_GATEWAY_ID", "cellar-1")
    assert run(["id", "--data-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "cellar-1\n"
    assert not (tmp_path / "gateway-id").exists()


def test_a_directory_that_cannot_be_made_is_one_line_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run(["id", "--data-dir", str(tmp_path / "file" / "data")]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert str(tmp_path / "file") in line


def test_a_directory_of_an_earlier_version_is_closed_to_others(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "gateway-id").write_text("cellar-1\n")
    for path, mode in ((directory, 0o755), (directory / "gateway-id", 0o644)):
        path.chmod(mode)
    assert run(["id", "--data-dir", str(directory)]) == 0
    assert stat.S_IMODE(directory.stat().st_mode) == 0o750
    assert stat.S_IMODE((directory / "gateway-id").stat().st_mode) == 0o640


def test_the_public_key_is_printed_as_a_line_of_the_keys_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gateway-id").write_text("gw-1\n")
    signer = SigningKey(tmp_path / "log").load()
    command = ["id", "--public-key", "--data-dir", str(tmp_path)]
    assert run(command) == 0
    line = capsys.readouterr().out
    assert line == f"gw-1 {signer.public_key}\n"
    (tmp_path / "keys").write_text(line)
    assert load_keys(tmp_path / "keys") == {"gw-1": [signer.public_key]}


def test_without_a_key_it_reports_who_makes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["id", "--public-key", "--data-dir", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "made when `oncegate upload` starts" in shown.err
