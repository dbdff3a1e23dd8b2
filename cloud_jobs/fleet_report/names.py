"""Names and sites that an operator gave to gateways and sensors, from a CSV file."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cloud_jobs.fleet_report.limits import NAME_CHARACTERS_MAX, NAMES_BYTES_MAX, NAMES_LINES_MAX

COLUMNS: Final = ("gateway", "device", "name", "site")
_HEADER: Final = ",".join(COLUMNS)
_QUOTED: Final = 'quote a text that has a comma or a quote: "Hall, north"'
Key = tuple[str, str]


class NamesError(ValueError):
    """Error that is raised if the file of names is invalid.

    The message states which line is wrong, what was expected, and how to fix it.
    """


@dataclass(frozen=True, slots=True)
class Named:
    """Name and site of a gateway or a sensor. A field is empty if the operator gave no value."""

    name: str
    site: str


@dataclass(frozen=True, slots=True)
class Names:
    """Names and sites, keyed by gateway and device.

    An entry with an empty device is for the gateway itself.
    """

    entries: dict[Key, Named] = field(default_factory=dict)

    def of_gateway(self, gateway: str) -> str:
        """Return the gateway's name, or its id if it has no name."""
        return self._of(gateway, "").name or gateway

    def of_sensor(self, gateway: str, device: str) -> str:
        """Return the name that the operator gave to a sensor, or else `device`."""
        return self._of(gateway, device).name or device

    def site_of(self, gateway: str, device: str = "") -> str:
        """Return the site of a sensor, or of its gateway if the sensor has none.

        If the gateway has no site either, return an empty string.
        """
        return self._of(gateway, device).site or self._of(gateway, "").site

    @property
    def has_sites(self) -> bool:
        """True if the operator gave any gateway a site."""
        return any(entry.site for (_, device), entry in self.entries.items() if not device)

    def _of(self, gateway: str, device: str) -> Named:
        return self.entries.get((gateway, device), _NONE)


_NONE: Final = Named("", "")
NO_NAMES: Final = Names()


def read_names(path: Path) -> Names:
    """Read the file of names.

    Raises NamesError if it is invalid, and OSError if it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(NAMES_BYTES_MAX + 1)
    if len(data) > NAMES_BYTES_MAX:
        raise NamesError(
            f"{path}: larger than {NAMES_BYTES_MAX // 1_048_576} MiB; keep only the lines of "
            "gateways and sensors that have a name or a site"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NamesError(
            f"{path}: line {line}: not UTF-8; save the file as CSV in UTF-8"
        ) from error
    return _parsed(path, text)


def _parsed(path: Path, text: str) -> Names:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    entries: dict[Key, Named] = {}
    places: dict[Key, int] = {}
    header: list[str] | None = None
    try:
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                if tuple(header) != COLUMNS:
                    raise _mistake(path, lines.line_num, ",".join(header)[:NAME_CHARACTERS_MAX],
                                   f"the header {_HEADER}", "make it the first line")  # fmt: skip
                continue
            key, named = _entry(path, lines.line_num, cells)
            if key in places:
                raise _mistake(path, lines.line_num, f"{' '.join(key).strip()} again",
                               "one line for each gateway and device",
                               f"remove this line or line {places[key]}")  # fmt: skip
            if len(entries) == NAMES_LINES_MAX:
                raise _mistake(path, lines.line_num, "one line more",
                               f"at most {NAMES_LINES_MAX:,} lines", "remove some")  # fmt: skip
            entries[key], places[key] = named, lines.line_num
    except csv.Error as error:
        raise _mistake(path, lines.line_num, str(error), "CSV with commas",
                       _QUOTED) from error  # fmt: skip
    if header is None:
        raise _mistake(path, 1, "an empty file", f"the header {_HEADER}", "make it the first line")
    return Names(entries)


def _entry(path: Path, line: int, cells: list[str]) -> tuple[Key, Named]:
    if len(cells) != len(COLUMNS):
        found = "1 field" if len(cells) == 1 else f"{len(cells)} fields"
        raise _mistake(path, line, found, f"the {len(COLUMNS)} fields {_HEADER}",
                       f"leave none out, and {_QUOTED}")  # fmt: skip
    gateway, device, name, site = (cell.strip() for cell in cells)
    if not gateway:
        raise _mistake(path, line, "no gateway", "the gateway's id in the first field",
                       "copy it from the report, or from `oncegate id`")  # fmt: skip
    for column, text in zip(COLUMNS[2:], (name, site), strict=True):
        if len(text) > NAME_CHARACTERS_MAX:
            raise _mistake(path, line, f"a {column} of {len(text):,} characters",
                           f"at most {NAME_CHARACTERS_MAX}", "shorten it")  # fmt: skip
    return (gateway, device), Named(name, site)


def _mistake(path: Path, line: int, found: str, expected: str, fix: str) -> NamesError:
    return NamesError(f"{path}: line {line}: {found}; expected {expected}; {fix}")
