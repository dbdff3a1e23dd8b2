"""Changes to sensors in `conf.d/` are checked, written atomically and undone.

Hostile values are refused.
"""

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import Configuration, conf_d, load
from gateway.configuration.serial_files import PREVIOUS_FILES_MAX, ChangeRefused, SerialFiles
from tests.small_disk import small_disk

GPS: dict[str, Any] = {"path": "/dev/ttyACM0", "framing": "nmea", "line": "9600 8N1"}
Files = SerialFiles[Configuration]


def files_next_to(file: Path) -> Files:
    """Return the files next to a configuration file, which is created if it does not exist."""
    file.touch()
    return SerialFiles(
        conf_d.folder_of(file),
        lambda contents: load(file, {}, {}, PROTOCOLS, replaced=contents),
    )


@pytest.fixture
def files(file: Path) -> Files:
    """Return the files next to an empty configuration file."""
    return files_next_to(file)


def version_of(files: Files, name: str) -> str | None:
    """Return the version of a port's file."""
    return next(each.version for each in files.listed() if each.name == name)


def refusal_of(
    files: Files, name: str, table: dict[str, Any], version: str | None = None
) -> ChangeRefused:
    """Return the reason why a table is not saved."""
    with pytest.raises(ChangeRefused) as caught:
        files.save(name, table, version)
    return caught.value


def test_a_saved_port_is_part_of_the_configuration(files: Files, file: Path) -> None:
    assert [port.name for port in files.save("gps", GPS, None).serial] == ["gps"]
    (port,) = load(file, {}, {}, PROTOCOLS).serial
    assert (port.name, str(port.path), port.framing) == ("gps", "/dev/ttyACM0", "nmea")
    written = conf_d.folder_of(file) / "gps.toml"
    assert tomllib.loads(written.read_text()) == {"serial": [{"name": "gps", **GPS}]}
    assert stat.S_IMODE(written.stat().st_mode) == 0o644


def test_tables_within_a_port_are_saved_too(files: Files) -> None:
    registers = [{"name": "power", "at": 12, "type": "f32"}]
    devices = [{"name": "meter", "address": 1, "registers": registers}]
    saved = files.save("rs485", {"path": "/dev/x", "framing": "modbus", "devices": devices}, None)
    assert saved.serial[0].protocol.device_names == ("meter",)
    assert files.listed()[0].table["devices"] == devices


@pytest.mark.parametrize(
    "name", ["../gps", "/etc/passwd", "a/b", ".hidden", "", "a\nb", "x" * 65, "gps\0", "ü"]
)
def test_a_name_that_is_no_name_of_a_port_writes_nothing(
    files: Files, file: Path, name: str
) -> None:
    assert refusal_of(files, name, GPS).code == "invalid"
    assert not conf_d.folder_of(file).exists()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({**GPS, "framing": "csv"}, "use columns with framing"),
        ({**GPS, "line": "8N1"}, '[[serial]] line = "8N1" is not allowed'),
        ({**GPS, "framing": 'nmea"\n[mqtt]\nmax_inflight = 1\n'}, "is not allowed"),
        ({**GPS, "a\n[mqtt]": 1}, "is not a key"),
        ({**GPS, "units": None}, "a value that TOML cannot store"),
        ({**GPS, "units": {"a": [None]}}, "such as null: leave its key out"),
        ({**GPS, "silent_after": float("nan")}, "[[serial]] silent_after = NaN is not"),
        ({**GPS, "units": {"a": "\ud800"}}, "a value that TOML cannot store"),
        ({"framing": "nmea"}, "one of path, usb and address"),
        ({**GPS, "name": "other"}, "cannot be changed"),
        ({**GPS, "units": {"k": "v" * 70_000}}, "longer than 65536 bytes"),
    ],
)
def test_a_table_that_check_config_refuses_is_not_written(
    files: Files, file: Path, table: dict[str, Any], words: str
) -> None:
    refused = refusal_of(files, "gps", table)
    assert refused.code == "invalid"
    assert words in refused.message
    assert str(file.parent) not in refused.message
    assert not conf_d.folder_of(file).exists()


def test_a_mistake_elsewhere_in_the_configuration_is_named_with_its_file(
    files: Files, file: Path
) -> None:
    file.write_text("[mqtt]\nmax_inflight = -1\n")
    assert f"{file}: [mqtt] max_inflight = -1" in refusal_of(files, "gps", GPS).message


def test_a_port_of_the_configuration_file_is_not_hidden(files: Files, file: Path) -> None:
    file.write_text('[[serial]]\nname = "gps"\npath = "/dev/x"\n')
    assert f"{file} has it" in refusal_of(files, "gps", GPS).message


def test_of_two_operators_who_add_one_name_the_second_is_refused(files: Files) -> None:
    files.save("gps", GPS, None)
    refused = refusal_of(files, "gps", {**GPS, "path": "/dev/ttyACM1"})
    assert refused.code == "conflict"
    assert "exists already" in refused.message
    assert files.listed()[0].table["path"] == "/dev/ttyACM0"


def test_of_two_operators_who_change_one_port_the_second_is_refused(files: Files) -> None:
    files.save("gps", GPS, None)
    seen = version_of(files, "gps")
    files.save("gps", {**GPS, "line": "4800 8N1"}, seen)
    refused = refusal_of(files, "gps", {**GPS, "line": "2400 8N1"}, seen)
    assert (refused.code, "changed by another operator" in refused.message) == ("conflict", True)
    with pytest.raises(ChangeRefused, match="changed by another operator"):
        files.remove("gps", seen)


def test_a_file_that_appears_while_a_port_is_checked_is_kept(file: Path) -> None:
    theirs = '[[serial]]\nname = "theirs"\npath = "/dev/x"\n'

    def check(contents: dict[str, bytes | None]) -> None:
        folder = conf_d.folder_of(file)
        folder.mkdir()
        (folder / "gps.toml").write_text(theirs)

    with pytest.raises(ChangeRefused, match="exists already"):
        SerialFiles(conf_d.folder_of(file), check).save("gps", GPS, None)  # type: ignore[arg-type]
    folder = conf_d.folder_of(file)
    assert {each.name: each.read_text() for each in folder.iterdir()} == {"gps.toml": theirs}


def test_an_undo_brings_back_the_previous_version_and_a_second_one_takes_it_away(
    files: Files,
) -> None:
    files.save("gps", GPS, None)
    files.save("gps", {**GPS, "line": "4800 8N1"}, version_of(files, "gps"))
    for line in ("9600 8N1", "4800 8N1"):
        files.undo("gps", version_of(files, "gps"))
        assert files.listed()[0].table["line"] == line


def test_an_undo_of_an_addition_removes_and_one_of_a_removal_brings_back(files: Files) -> None:
    files.save("gps", GPS, None)
    assert files.undo("gps", version_of(files, "gps")).serial == ()
    (removed,) = files.listed()
    assert (removed.version, removed.has_previous) == (None, True)
    files.undo("gps", None)
    files.remove("gps", version_of(files, "gps"))
    assert [port.name for port in files.undo("gps", None).serial] == ["gps"]


def test_an_undo_that_would_take_the_name_of_another_port_changes_nothing(
    files: Files, file: Path
) -> None:
    files.save("gps", GPS, None)
    files.remove("gps", version_of(files, "gps"))
    files.save("other", GPS, None)
    with pytest.raises(ChangeRefused, match=r"path = .* is not allowed"):
        files.undo("gps", None)
    assert [port.name for port in load(file, {}, {}, PROTOCOLS).serial] == ["other"]


def test_files_of_people_with_several_tables_are_left_alone(files: Files, file: Path) -> None:
    folder = conf_d.folder_of(file)
    folder.mkdir()
    text = '[[serial]]\nname = "a"\npath = "/dev/a"\n[[serial]]\nname = "b"\npath = "/dev/b"\n'
    (folder / "a.toml").write_text(text)
    (folder / "broken.toml").write_text("[")
    assert files.listed() == []
    assert refusal_of(files, "a", GPS).code == "conflict"


def test_versions_to_undo_are_bounded_and_the_oldest_goes_first(files: Files, file: Path) -> None:
    for number in range(PREVIOUS_FILES_MAX + 2):
        files.save(f"p{number}", {**GPS, "path": f"/dev/x{number}"}, None)
        files.remove(f"p{number}", version_of(files, f"p{number}"))
    names = {each.name for each in files.listed()}
    assert len(names) == PREVIOUS_FILES_MAX
    assert not names & {"p0", "p1"}


def test_without_a_configuration_file_there_is_no_place_and_the_message_has_the_fix() -> None:
    nowhere: Files = SerialFiles(None, lambda _: Configuration())
    assert nowhere.listed() == []
    refused = refusal_of(nowhere, "gps", GPS)
    assert (refused.code, "--config" in refused.message) == ("unwritable", True)


def test_on_a_full_disk_nothing_changes_and_the_next_try_succeeds(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        file = disk.folder / "gateway.toml"
        files = files_next_to(file)
        files.save("gps", GPS, None)
        written = conf_d.folder_of(file) / "gps.toml"
        before = written.read_bytes()
        disk.fill()
        refused = refusal_of(files, "dust", {**GPS, "path": "/dev/x"})
        assert (refused.code, "No space left" in refused.message) == ("unwritable", True)
        with pytest.raises(ChangeRefused, match="No space left"):
            files.save("gps", {**GPS, "line": "4800 8N1"}, version_of(files, "gps"))
        assert written.read_bytes() == before
        assert [port.name for port in load(file, {}, {}, PROTOCOLS).serial] == ["gps"]
        disk.empty()
        files.save("dust", {**GPS, "path": "/dev/x"}, None)


def test_values_that_json_does_not_have_are_listed_as_text(files: Files, file: Path) -> None:
    folder = conf_d.folder_of(file)
    folder.mkdir()
    odd = "x = nan\ny = -inf\nz = 2026-11-26\n"
    (folder / "gps.toml").write_text(f'[[serial]]\nname = "gps"\n{odd}')
    (listed,) = files.listed()
    assert listed.table == {"name": "gps", "x": "NaN", "y": "-Infinity", "z": "2026-11-26"}
