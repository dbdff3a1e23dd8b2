"""Changes sensors in `conf.d/`. Each change is checked, written atomically, and can be undone.

`NAME.toml` defines the port NAME. `NAME.toml.previous` contains the version before the last change,
or is empty if the last change created `NAME.toml`.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from gateway.configuration import conf_d
from gateway.configuration.problems import ConfigurationError
from gateway.process.declarations.names import NAME_PATTERN
from gateway.process.files.disk_errors import line_of
from gateway.process.files.durable import Rights, fsync_folder, make_folder, replace_durably
from gateway.process.files.toml_text import text_of

PREVIOUS: Final = ".previous"
PREVIOUS_FILES_MAX: Final = 64
"""Maximum number of `.previous` files, one per change to undo. The oldest files are removed."""
PROBLEMS_SHOWN_MAX: Final = 5
"""Maximum number of mistakes in the message about a refused change: a form has room for these."""
FILE_MODE: Final = 0o644
FOLDER_MODE: Final = 0o755
"""Mode of the folder. Like FILE_MODE, it lets every process of the gateway read the files, which
contain no secrets, like `gateway.toml`."""

_NAME: Final = re.compile(NAME_PATTERN, re.ASCII)
_HEAD: Final = (
    "# Written by the page: Sensors, Ports. The previous version is NAME.toml.previous.\n"
)
_PLACE: Final = re.compile(r"( line \d+)?: ")

Contents = Mapping[str, bytes | None]
Result = TypeVar("Result")


class ChangeRefused(Exception):
    """Error raised if a change is refused, with a `code` for programs and a readable `message`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class PortFile:
    """A file in `conf.d/` that defines a port, or a removed file that can be restored."""

    name: str
    version: str | None
    """Digest of the contents, which a change must pass as `version`. None for a removed file."""
    table: Mapping[str, Any]
    """The `[[serial]]` table in the file; empty if the file was removed."""
    has_previous: bool
    """True if the last change of the file can be undone."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields of this object as a dictionary of JSON values."""
        return {
            "name": self.name,
            "version": self.version,
            "table": dict(self.table),
            "has_previous": self.has_previous,
        }


class SerialFiles(Generic[Result]):
    """Reader and editor of the files in `conf.d/`. Only one process may use it at a time."""

    def __init__(self, folder: Path | None, check: Callable[[Contents], Result]) -> None:
        """Store the folder and the function that checks a change.

        Args:
            folder: the folder, or None if the gateway has no configuration file.
            check: function that loads the configuration with new contents for some files, without
                changing the files. Raises ConfigurationError if the configuration is invalid.
        """
        self._folder = folder
        self._check = check

    def listed(self) -> list[PortFile]:
        """Return the files that can be changed, and the removed files that can be restored.

        A file can be changed if it contains only one port, which has the same name as the file.
        """
        if self._folder is None:
            return []
        found = {
            each.name: each for name in conf_d.names_in(self._folder) for each in self._at(name)
        }
        for name in self._previous_names():
            if name not in found and not (self._folder / f"{name}{conf_d.ENDING}").exists():
                found[name] = PortFile(name, None, {}, has_previous=True)
        return [found[name] for name in sorted(found)]

    def save(self, name: str, table: Mapping[str, Any], version: str | None) -> Result:
        """Write the table of a port to its file.

        Args:
            name: the port's name.
            table: the keys of the port, without the name.
            version: expected version of the file on disk, or None if no file should exist yet.

        Raises:
            ChangeRefused: the change is invalid or conflicts with another change. Nothing was
                written.
        """
        path = self._path_of(name)
        try:
            text = _HEAD.replace("NAME", name) + text_of(
                {conf_d.SECTION: [{"name": name, **table}]}
            )
            content = text.encode()
        except (TypeError, UnicodeEncodeError, RecursionError):
            trouble = (
                "the table has a value that TOML cannot store, such as null: leave its key out"
            )
            raise ChangeRefused("invalid", trouble) from None
        if table.get("name", name) != name:
            raise ChangeRefused("invalid", f"the port's name is {name!r} and cannot be changed")
        before = self._current(path, version)
        result = self._checked(path, content)
        self._change(path, before, content)
        return result

    def remove(self, name: str, version: str | None) -> Result:
        """Remove a port's file. Raises ChangeRefused on failure, or if `version` is outdated."""
        path = self._path_of(name)
        before = self._current(path, version)
        if before is None:
            raise ChangeRefused("not_found", f"there is no file {path}")
        result = self._checked(path, None)
        self._change(path, before, None)
        return result

    def undo(self, name: str, version: str | None) -> Result:
        """Swap the file of a port with its previous version. A second undo reverses the first.

        Raises ChangeRefused if `version` is outdated, if there is no previous version, or if the
        configuration would become invalid.
        """
        path = self._path_of(name)
        before = self._current(path, version)
        try:
            previous = _read(_previous_of(path))
        except FileNotFoundError:
            raise ChangeRefused("not_found", f"no change of {name!r} can be undone") from None
        content = previous or None
        result = self._checked(path, content)
        self._change(path, before, content)
        return result

    def _path_of(self, name: str) -> Path:
        if self._folder is None:
            raise ChangeRefused(
                "unwritable",
                "conf.d/ is next to the configuration file, and there is none: start the gateway "
                "with --config gateway.toml",
            )
        if not _NAME.fullmatch(name):
            raise ChangeRefused(
                "invalid",
                "a name has 1 to 64 letters, digits, '.', ':', '_' or '-', and begins with a "
                "letter or digit",
            )
        return self._folder / f"{name}{conf_d.ENDING}"

    def _current(self, path: Path, version: str | None) -> bytes | None:
        """Return the contents of a file. Raises ChangeRefused if its version is not `version`."""
        try:
            found = _read(path)
        except FileNotFoundError:
            found = None
        except OSError as error:
            raise _unwritable(error) from None
        if _version_of(found) != version:
            now = "exists already" if version is None else "was changed by another operator"
            raise ChangeRefused("conflict", f"{path} {now}")
        return found

    def _checked(self, path: Path, content: bytes | None) -> Result:
        """Check the configuration with a changed file. Return the result or raise ChangeRefused."""
        try:
            return self._check({path.name: content})
        except ConfigurationError as error:
            lines = [
                _PLACE.sub("", line.removeprefix(str(path)), count=1)
                if line.startswith(str(path))
                else line
                for line in error.problems[:PROBLEMS_SHOWN_MAX]
            ]
            raise ChangeRefused("invalid", "; ".join(lines)) from None

    def _change(self, path: Path, before: bytes | None, content: bytes | None) -> None:
        """Replace a file, and store the previous contents. Raises ChangeRefused on failure."""
        try:
            if not path.parent.is_dir():
                make_folder(path.parent)
                path.parent.chmod(FOLDER_MODE)
            if content is None:
                _put(_previous_of(path), before or b"")
                path.unlink()
                fsync_folder(path.parent)
            elif before is None:
                _create(path, content)
                _put(_previous_of(path), b"")
            else:
                _put(_previous_of(path), before)
                _put(path, content)
            self._forget_oldest()
        except FileExistsError:
            raise ChangeRefused("conflict", f"{path} exists already") from None
        except OSError as error:
            raise _unwritable(error) from None

    def _at(self, file_name: str) -> Iterator[PortFile]:
        assert self._folder is not None, "names are those of its files"
        path = self._folder / file_name
        with contextlib.suppress(OSError):
            content = _read(path)
            mine = [port.table for port in conf_d.tables_of(path, content)]
            name = file_name.removesuffix(conf_d.ENDING)
            if len(mine) == 1 and isinstance(mine[0], dict) and mine[0].get("name") == name:
                has_previous = _previous_of(path).exists()
                yield PortFile(name, _version_of(content), _as_json(mine[0]), has_previous)

    def _previous_names(self) -> list[str]:
        assert self._folder is not None, "names are those of its files"
        ending = f"{conf_d.ENDING}{PREVIOUS}"
        try:
            entries = [(each.name, each.stat().st_size) for each in self._folder.iterdir()]
        except OSError:
            return []
        return [
            name.removesuffix(ending)
            for name, size in entries
            # An empty file belongs to a port that did not exist before: there is nothing to
            # restore.
            if name.endswith(ending) and size and not name.startswith(".")
        ]

    def _forget_oldest(self) -> None:
        assert self._folder is not None, "a file was written there"
        found = [*self._folder.glob(f"*{conf_d.ENDING}{PREVIOUS}")]
        found.sort(key=lambda each: each.stat().st_mtime_ns)
        for path in found[: max(0, len(found) - PREVIOUS_FILES_MAX)]:
            path.unlink()


def _previous_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{PREVIOUS}")


def _version_of(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()[:16]


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(conf_d.FILE_BYTES_MAX + 1)


def _as_json(table: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a table to JSON values. Dates, `nan` and `inf` become strings."""
    found: dict[str, Any] = json.loads(json.dumps(table, default=str), parse_constant=str)
    return found


def _put(path: Path, content: bytes) -> None:
    replace_durably(
        path, content, partial=_hidden(path, "partial"), rights=Rights(FILE_MODE, is_exact=True)
    )


def _create(path: Path, content: bytes) -> None:
    """Create a file and sync it to disk. Raises FileExistsError if the file already exists."""
    whole = _hidden(path, "new")
    _put(whole, content)
    try:
        os.link(whole, path)
        fsync_folder(path.parent)
    finally:
        whole.unlink()


def _hidden(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{ending}")


def _unwritable(error: OSError) -> ChangeRefused:
    return ChangeRefused("unwritable", f"nothing was changed: {line_of(error)}")
