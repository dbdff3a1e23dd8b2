"""`oncegate id`: the gateway's id is printed, and made where there is none."""

import stat
from pathlib import Path

import pytest

from gateway.cli.main import run


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
