"""The file of names: the names that it defines, and the error for each mistake in it."""

from pathlib import Path

import pytest

from cloud_jobs.fleet_report import names as names_module
from cloud_jobs.fleet_report.names import Names, NamesError, read_names

HEADER = "gateway,device,name,site\n"


def read(tmp_path: Path, text: str | bytes) -> Names:
    path = tmp_path / "names.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_names(path)


def test_an_empty_device_is_the_gateway_and_a_sensor_is_at_its_gateways_site(
    tmp_path: Path,
) -> None:
    names = read(
        tmp_path,
        f'\ufeff{HEADER}gw-1,,"Cabinet 1, roof",North\r\ngw-1,meter,Main meter,\n\ngw-2,,,South\n',
    )
    assert names.of_gateway("gw-1") == "Cabinet 1, roof"
    assert names.of_sensor("gw-1", "meter") == "Main meter"
    assert names.site_of("gw-1", "meter") == "North"
    assert (names.of_gateway("gw-2"), names.site_of("gw-2")) == ("gw-2", "South")
    assert (names.of_gateway("gw-3"), names.site_of("gw-3")) == ("gw-3", "")
    assert names.has_sites


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", r"line 1: an empty file; expected the header gateway,device,name,site; make it"),
        ("gw-1,,a,b\n", r"line 1: gw-1,,a,b; expected the header"),
        (HEADER + "gw-1,,a\n", r"line 2: 3 fields; expected the 4 fields"),
        (HEADER + "gw-1,,a,b,c\n", r"line 2: 5 fields; .* quote a text that has a comma"),
        (HEADER + ",meter,a,b\n", r"line 2: no gateway; expected the gateway's id"),
        (HEADER + "g,,a,\ng,,b,\n", r"line 3: g again; expected one line .* or line 2$"),
        (HEADER + f"g,,{'n' * 81},\n", r"line 2: a name of 81 characters; expected at most 80"),
        (HEADER + 'g,,"a,b\n', r"line 2: unexpected end of data; expected CSV with commas"),
        (HEADER.encode() + b"g,,K\xe4lte,\n", r"line 2: not UTF-8; save the file as CSV in UTF-8"),
    ],
)
def test_a_mistake_names_its_line_what_was_expected_and_the_fix(
    tmp_path: Path, text: str | bytes, expected: str
) -> None:
    with pytest.raises(NamesError, match=expected):
        read(tmp_path, text)


def test_a_file_that_is_too_large_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_module, "NAMES_BYTES_MAX", 100)
    with pytest.raises(NamesError, match="larger than"):
        read(tmp_path, HEADER + "g,,a,\n" * 100)


def test_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "NAMES_LINES_MAX", 2)
    with pytest.raises(NamesError, match="line 4: one line more; expected at most 2 lines"):
        read(tmp_path, HEADER + "a,,,\nb,,,\nc,,,\n")
