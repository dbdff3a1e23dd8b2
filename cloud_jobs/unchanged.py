"""What the last complete run knew, so that a run with nothing to do ends without Spark.

A file beside the tables, `_last_run.json`; docs/decisions/0080 has its keys. It is a hint: it is
believed only while the names of all landed files and the keys file are the same, what was refused
has the same bytes, and no table has a newer commit. In every other case, and wherever anything here
cannot be read, Spark looks. Tables and landing directories that are no local directories have none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from cloud_jobs.limits import KEYS_FILE_BYTES_MAX, SEGMENT_FILE_BYTES_MAX
from cloud_jobs.places import local_directory
from cloud_jobs.report import IngestReport
from cloud_jobs.settings import IngestSettings

FILE: Final = "_last_run.json"
FORMAT: Final = 1
_HIDDEN: Final = re.compile(r"(^|/)[._]")
"""Of a path: Spark leaves out files and directories whose names begin so."""
_COMMIT: Final = re.compile(r"[0-9]{20}\.json", re.ASCII)

Refused: TypeAlias = Mapping[str, list[tuple[int, str | None]]]
"""Names of segment files in quarantine: the bytes and sha256 of each file that was refused under
the name. No sha256 where it is too large to be read."""


@dataclass(frozen=True, slots=True)
class Landing:
    """The files of a landing directory, as paths relative to it."""

    directory: Path
    paths: tuple[str, ...]

    @property
    def segment_names(self) -> frozenset[str]:
        """The names of the files that are segments by their names, and that Spark lists."""
        listed = (path for path in self.paths if not _HIDDEN.search(path))
        return frozenset(os.path.basename(path) for path in listed if path.endswith(".zst"))

    @property
    def sha256(self) -> str:
        """Of all paths."""
        return hashlib.sha256("\0".join(self.paths).encode(errors="surrogateescape")).hexdigest()


def landing_of(settings: IngestSettings) -> Landing | None:
    """List what has landed; None where that cannot be known for certain without Spark."""
    directory = local_directory(settings.source)
    if directory is None:
        return None
    found: list[str] = []
    try:
        for folder, folders, files in os.walk(directory, onerror=_raise):
            # Spark goes into them, `os.walk` does not.
            if any(os.path.islink(os.path.join(folder, name)) for name in folders):
                return None
            found += (os.path.relpath(os.path.join(folder, name), directory) for name in files)
    except OSError:
        return None
    return Landing(directory.absolute(), tuple(sorted(found)))


def forget(settings: IngestSettings) -> None:
    """Remove the hint: a run begins. Raises OSError."""
    directory = local_directory(settings.tables)
    if directory is not None:
        (directory / FILE).unlink(missing_ok=True)


def remember(
    settings: IngestSettings, landing: Landing, refused: Refused, report: IngestReport
) -> None:
    """Write the hint after a complete run.

    Args:
        settings: of the run.
        landing: the files before the run listed them, of which none is left to look at.
        refused: those of them that are in quarantine.
        report: what stands in the tables.

    Raises:
        OSError: it cannot be written; there is none then.
    """
    directory = local_directory(settings.tables)
    if directory is None:
        return
    hint = {
        "format": FORMAT,
        "source": str(landing.directory),
        "landed_sha256": landing.sha256,
        "refused": refused,
        "commits": _commits(directory),
        "keys_sha256": _keys_sha256(settings),
        "report": report.as_json(),
    }
    part = directory / f"{FILE}.part"
    part.write_text(json.dumps(hint))
    part.replace(directory / FILE)


def report_if_unchanged(settings: IngestSettings) -> IngestReport | None:
    """Return the report of a run that finds nothing new, None where Spark has to look."""
    began = time.monotonic()
    directory = local_directory(settings.tables)
    if directory is None:
        return None
    try:
        hint = json.loads((directory / FILE).read_text())
        if hint["format"] != FORMAT or hint["commits"] != _commits(directory):
            return None
        if hint.get("keys_sha256") != _keys_sha256(settings):
            return None
        landing = landing_of(settings)
        if landing is None or not _is_known(landing, hint) or _is_unfinished(directory):
            return None
        report = IngestReport.from_json(hint["report"])
    # Whatever another version or another program has written there: Spark looks.
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return report.without_news(settings.source, settings.tables, time.monotonic() - began)


def _is_known(landing: Landing, hint: Mapping[str, Any]) -> bool:
    if (str(landing.directory), landing.sha256) != (hint["source"], hint["landed_sha256"]):
        return False
    refused: Mapping[str, list[list[object]]] = hint["refused"]
    names = ((path, os.path.basename(path)) for path in landing.paths)
    return all(
        _bytes_of(landing.directory / path) in refused[name]
        for path, name in names
        if name in refused
    )


def _bytes_of(path: Path) -> list[object]:
    """Size and sha256 of a file, as `Refused` has them. Raises OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > SEGMENT_FILE_BYTES_MAX:
            return [size, None]
        content = file.read(SEGMENT_FILE_BYTES_MAX + 1)
    return [len(content), hashlib.sha256(content).hexdigest()]


def _keys_sha256(settings: IngestSettings) -> str | None:
    """Return what the keys file hashes to, None without one. Raises OSError."""
    if settings.keys is None:
        return None
    with settings.keys.open("rb") as file:
        return hashlib.sha256(file.read(KEYS_FILE_BYTES_MAX + 1)).hexdigest()


def _commits(directory: Path) -> dict[str, str]:
    """Return the newest commit of each table, the name of its file. Raises OSError."""
    found = {}
    for log in directory.glob("[!_.]*/_delta_log"):
        names = [name for name in os.listdir(log) if _COMMIT.fullmatch(name)]
        found[log.parent.name] = max(names, default="")
    return found


def _is_unfinished(directory: Path) -> bool:
    """Whether a batch was begun and not finished."""
    with contextlib.suppress(FileNotFoundError):
        return bool(os.listdir(directory / "_staging"))
    return False


def _raise(error: OSError) -> None:
    raise error
