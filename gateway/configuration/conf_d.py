"""Files in the folder `conf.d/` next to the configuration file. Each file adds serial ports.

The files contain only `[[serial]]` tables. A program that may write to this folder can therefore
add sensors, but cannot change anything else. The status page writes these files when an operator
uses *Add a sensor* (`serial_files.py`). People can also write them by hand.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.configuration.problems import Location, shown
from gateway.process.files.toml_mistakes import reason_of

FOLDER: Final = "conf.d"
ENDING: Final = ".toml"
SECTION: Final = "serial"
FILES_MAX: Final = 64
"""Maximum number of files: a gateway has tens of ports, and each process reads all files at its
start."""
FILE_BYTES_MAX: Final = 65_536
"""Maximum bytes of a file: one port with 200 Modbus registers takes 20 KB."""
UNIQUE_KEYS: Final = ("name", "path", "usb", "address")
"""Keys whose value must be unique among all ports."""

_NUMBERED: Final = re.compile(r"\[\[serial\]\] \(\d+[a-z]{2}\)")
_BELOW_HEAD: Final = frozenset({"name", "path", "framing"})
"""Keys that are outside a table only if the line with its head is missing."""
_TABLE: Final = re.compile(r"\s*\[\[\s*serial\s*\]\]")
_LIST: Final = re.compile(r"\s*serial\s*=")


@dataclass(frozen=True, slots=True)
class PortTable:
    """A `[[serial]]` table, and the range of lines that contain the table in its file."""

    path: Path
    first_line: int
    lines: tuple[str, ...]
    table: Any
    """The parsed table. It is a mapping, unless the file has a mistake."""

    def source_of(self, within: Location) -> str:
        """Return the file's path and the line number of a key, for messages.

        `within` is the location of the key in the table.
        """
        keys = [each for each in within if isinstance(each, str) and each != "protocol"]
        line = self.first_line
        if keys:
            key = re.compile(rf"\s*[\"']?{re.escape(keys[0])}[\"']?\s*=")
            found = (at for at, text in enumerate(self.lines) if key.match(text))
            line += next(found, 0)
        return f"{self.path} line {line}"


@dataclass(frozen=True, slots=True)
class Found:
    """Contents of `conf.d/`: serial ports, sorted by file name, and mistakes in the files.

    Each mistake is a one-line message.
    """

    ports: tuple[PortTable, ...]
    problems: tuple[str, ...]


def folder_of(configuration: Path) -> Path:
    """Return the folder `conf.d` next to a configuration file."""
    return configuration.parent / FOLDER


def ports_in(folder: Path, replaced: Mapping[str, bytes | None]) -> Found:
    """Read the serial ports from the files in a folder. A missing folder counts as empty.

    Args:
        folder: the folder `conf.d`.
        replaced: file contents to use instead of those on disk, keyed by file name. A file with the
            value None is treated as missing.
    """
    ports: list[PortTable] = []
    problems: list[str] = []
    try:
        names = names_in(folder)
    except OSError as error:
        return Found((), (f"{folder}: cannot be read: {error.strerror}",))
    names = sorted({*names, *replaced} - {name for name in replaced if replaced[name] is None})
    if len(names) > FILES_MAX:
        problems.append(f"{folder}: {len(names)} files are not allowed: use at most {FILES_MAX}")
        return Found((), tuple(problems))
    for name in names:
        path = folder / name
        content = replaced.get(name)
        try:
            ports += _ports_of(path, _content_of(path) if content is None else content)
        except _Mistake as mistake:
            problems += mistake.lines
    return Found(tuple(ports), tuple(problems))


def names_in(folder: Path) -> list[str]:
    """Return the names of the configuration files in a folder.

    Raises OSError if the folder cannot be read.
    """
    try:
        entries = [each.name for each in folder.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(name for name in entries if name.endswith(ENDING) and not name.startswith("."))


def tables_of(path: Path, content: bytes) -> list[PortTable]:
    """Return the `[[serial]]` tables in one file, or an empty list if the file is invalid."""
    try:
        return [*_ports_of(path, content)]
    except _Mistake:
        return []


def repeated(
    ports: Sequence[PortTable], before: Sequence[object], place: str
) -> Iterator[tuple[PortTable, str]]:
    """Yield each port whose name or device is already used, with an error message.

    Args:
        ports: the ports in `conf.d/`.
        before: `[[serial]]` tables of the other ports, from the configuration file or the
            environment.
        place: where the tables in `before` were set, for messages.
    """
    taken: dict[tuple[str, str], str] = {}
    for table in before:
        taken |= dict.fromkeys(_identities_of(table), place)
    for port in ports:
        for key, value in _identities_of(port.table):
            here = port.source_of((key,))
            first = taken.setdefault((key, value), here)
            if first != here:
                written = f"[[serial]] {key} = {shown(value)}"
                yield port, f"{here}: {written} is not allowed: use another, {first} has it"


def without_numbers(problems: Sequence[str], folder: Path) -> list[str]:
    """Remove table numbers, such as "(2nd)", from messages about files in `folder`.

    The numbers are not needed, because these messages contain line numbers.
    """
    return [
        _NUMBERED.sub("[[serial]]", line) if line.startswith(f"{folder}/") else line
        for line in problems
    ]


class _Mistake(Exception):
    def __init__(self, *lines: str) -> None:
        super().__init__(lines)
        self.lines = lines


def _content_of(path: Path) -> bytes:
    if not path.is_file():
        raise _Mistake(f"{path}: is not a regular file: remove it")
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise _Mistake(f"{path}: cannot be read: {error.strerror}") from None


def _ports_of(path: Path, content: bytes) -> Iterator[PortTable]:
    if len(content) > FILE_BYTES_MAX:
        raise _Mistake(f"{path}: longer than {FILE_BYTES_MAX} bytes: is it the right file?")
    try:
        text = content.decode("utf-8-sig")
        tables = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise _Mistake(f"{path}: byte {error.start} is not UTF-8: save as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _Mistake(f"{path}: is not TOML: {reason_of(error)}") from None
    lines = text.splitlines()
    foreign = [name for name in tables if name != SECTION]
    if not _BELOW_HEAD.isdisjoint(foreign):
        raise _Mistake(f"{path}: begin each sensor with a line [[serial]]")
    if foreign:
        raise _Mistake(*(_refusal_of(path, name, lines) for name in foreign))
    ports = tables.get(SECTION, [])
    if not isinstance(ports, list):
        raise _Mistake(f"{path}: use [[serial]], with two brackets, for each of its tables")
    starts = [at for at, line in enumerate(lines) if _TABLE.match(line)]
    for number, table in enumerate(ports):
        start, end = _extent_of(number, starts, lines)
        yield PortTable(path, start + 1, tuple(lines[start:end]), table)


def _extent_of(number: int, starts: Sequence[int], lines: Sequence[str]) -> tuple[int, int]:
    """Return the indices of a table's first line and of the line after the table's last line.

    `number` is 0 for the first table in the file. `starts` contains the index of each line at which
    a table starts.
    """
    if number < len(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        return starts[number], end
    first = next((at for at, line in enumerate(lines) if _LIST.match(line)), 0)
    return first, len(lines)


def _refusal_of(path: Path, name: str, lines: Sequence[str]) -> str:
    written = re.compile(rf"\s*(\[\[?\s*)?[\"']?{re.escape(name)}\b")
    line = next((at for at, text in enumerate(lines, 1) if written.match(text)), 1)
    return (
        f"{path} line {line}: {name!a} is not allowed: use [[serial]] tables only in {FOLDER}/, "
        f"and write {name!a} into the configuration file"
    )


def _identities_of(table: object) -> Iterator[tuple[str, str]]:
    for key in UNIQUE_KEYS:
        value = table.get(key) if isinstance(table, Mapping) else None
        if isinstance(value, str):
            yield key, value if key in ("name", "path") else value.lower()
