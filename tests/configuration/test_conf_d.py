"""Files in `conf.d/` may add serial ports and nothing else. A mistake names file and line."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import ConfigurationError, conf_d, load

GPS = '[[serial]]\nname = "gps"\npath = "/dev/ttyACM0"\nframing = "nmea"\n'
DUST = '[[serial]]\nname = "dust"\npath = "/dev/ttyUSB0"\nframing = "json"\n'


@pytest.fixture
def folder(file: Path) -> Path:
    """Return the folder `conf.d/` next to an empty configuration file."""
    file.touch()
    made = conf_d.folder_of(file)
    made.mkdir()
    return made


def names_with(file: Path, environment: dict[str, str] | None = None) -> list[str]:
    """Return the names of the ports in a configuration."""
    return [port.name for port in load(file, environment or {}, {}, PROTOCOLS).serial]


def mistake_of(file: Path) -> str:
    """Return the only mistake in a configuration."""
    with pytest.raises(ConfigurationError) as caught:
        load(file, {}, {}, PROTOCOLS)
    (line,) = caught.value.problems
    return line


def test_ports_of_all_files_join_those_of_the_configuration_file(file: Path, folder: Path) -> None:
    file.write_text(DUST)
    (folder / "b.toml").write_text(GPS)
    (folder / "a.toml").write_text(DUST.replace("dust", "scale").replace("USB0", "USB1"))
    assert names_with(file) == ["dust", "scale", "gps"]


def test_ports_of_the_environment_are_joined_too(file: Path, folder: Path) -> None:
    file.write_text(DUST)
    (folder / "gps.toml").write_text(GPS)
    environment = {"ONCEGATE_SERIAL": '[{name = "board", path = "/run/board"}]'}
    assert names_with(file, environment) == ["board", "gps"]


def test_without_the_folder_and_without_a_file_nothing_is_added(file: Path) -> None:
    file.write_text(DUST)
    assert names_with(file) == ["dust"]
    assert load(None, {}, {}, PROTOCOLS).serial == ()


def test_hidden_files_and_other_endings_are_not_read(file: Path, folder: Path) -> None:
    for name in (".gps.toml", "gps.toml.partial", "gps.previous", "README"):
        (folder / name).write_text("no TOML")
    assert names_with(file) == []


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (f'{GPS}line = "8N1"\n', "line 5: [[serial]] line = ", '"9600 7E1"'),
        (f"{GPS}\n[[serial]]\nname = 3\npath = 'x'\n", "line 7: [[serial]] name = 3 ", "1 to 64"),
        (f"\n\n{GPS}columns = ['a']\n", "line 7: [[serial]]: use columns with framing", '"csv"'),
        (GPS.replace("nmea", "xml"), 'line 4: [[serial]] framing = "xml" ', '"board", "nmea"'),
        (f"# a\n{GPS}\n[mqtt]\nmax_inflight = 1\n", "line 7: 'mqtt' is not ", "configuration file"),
        (f"port = 80\n{GPS}", "line 1: 'port' is not allowed: use [[serial]] tables only", ""),
        (GPS.replace("[[serial]]", ""), ": begin each sensor with a line [[serial]]", ""),
        ('[[serial.readings]]\nname = "x"', "use [[serial]], with two brackets", ""),
        ('serial = [{path = "/dev/x"}]', "line 1: [[serial]] name is missing", ""),
        ("[[serial]\n", ": is not TOML", "line 1"),
        ("[[serial]]\nname = 'a\nb'", ": is not TOML", "line 2"),
        ("x = " + "[" * 5000, ": is not TOML", ""),
    ],
)
def test_a_mistake_names_the_file_the_line_and_the_fix(
    file: Path, folder: Path, text: str, place: str, words: str
) -> None:
    (folder / "gps.toml").write_text(text)
    line = mistake_of(file)
    assert line.startswith(str(folder / "gps.toml"))
    assert place in line
    assert words in line


def test_a_name_that_another_file_has_is_refused_with_both_places(file: Path, folder: Path) -> None:
    (folder / "a.toml").write_text(GPS)
    (folder / "b.toml").write_text(f"# second\n{GPS.replace('ACM0', 'ACM1')}")
    line = mistake_of(file)
    assert line.startswith(f'{folder}/b.toml line 3: [[serial]] name = "gps" is not allowed')
    assert f"{folder}/a.toml line 2 has it" in line


def test_a_device_that_the_configuration_file_has_is_refused(file: Path, folder: Path) -> None:
    file.write_text(GPS)
    (folder / "b.toml").write_text(GPS.replace('"gps"', '"other"'))
    line = mistake_of(file)
    assert line.startswith(f'{folder}/b.toml line 3: [[serial]] path = "/dev/ttyACM0" is not')
    assert f"{file} has it" in line


def test_files_are_bounded_in_number_and_size(file: Path, folder: Path) -> None:
    (folder / "a.toml").write_bytes(b"#" * (conf_d.FILE_BYTES_MAX + 1))
    assert "longer than 65536 bytes" in mistake_of(file)
    for number in range(conf_d.FILES_MAX):
        (folder / f"{number}.toml").touch()
    assert f"{conf_d.FILES_MAX + 1} files are not allowed" in mistake_of(file)


def test_a_folder_or_a_broken_text_in_place_of_a_file_is_refused(file: Path, folder: Path) -> None:
    (folder / "a.toml").mkdir()
    assert "is not a regular file" in mistake_of(file)
    (folder / "a.toml").rmdir()
    (folder / "a.toml").write_bytes(b"# \xff")
    assert "byte 2 is not UTF-8" in mistake_of(file)


def test_a_change_is_checked_before_it_is_written(file: Path, folder: Path) -> None:
    (folder / "gps.toml").write_text(GPS)
    added = load(file, {}, {}, PROTOCOLS, replaced={"dust.toml": DUST.encode()})
    assert [port.name for port in added.serial] == ["dust", "gps"]
    assert load(file, {}, {}, PROTOCOLS, replaced={"gps.toml": None}).serial == ()
    with pytest.raises(ConfigurationError, match=r"conf.d/dust.toml line 1: 'mqtt' is not allowed"):
        load(file, {}, {}, PROTOCOLS, replaced={"dust.toml": b"[mqtt]\n"})
