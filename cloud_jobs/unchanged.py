"""What the last complete run knew, so that a run with nothing to do ends without Spark.

A file beside the tables, `_last_run.json`; docs/decisions/0080 has its keys. It is a hint: it is
believed only while the names of all landed files and the keys file are the same, what was refused
has the same bytes, and no table has a newer commit. In every other case, and wherever anything here
cannot be read, Spark looks. So it does for places that are no directories and no `s3a:` URLs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from cloud_jobs.limits import HINT_BYTES_MAX, KEYS_FILE_BYTES_MAX, SEGMENT_FILE_BYTES_MAX
from cloud_jobs.report import IngestReport
from cloud_jobs.settings import IngestSettings
from cloud_jobs.stores import Store, store_of

FILE: Final = "_last_run.json"
FORMAT: Final = 1
_HIDDEN: Final = re.compile(r"(^|/)[._]")
"""Of a path: Spark leaves out files and directories whose names begin so."""
Refused: TypeAlias = Mapping[str, list[tuple[int, str | None]]]
"""Names of segment files in quarantine: the bytes and sha256 of each file that was refused under
the name. No sha256 where it is too large to be read."""


@dataclass(frozen=True, slots=True)
class Landing:
    """The files of a landing place, as paths relative to it."""

    store: Store
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
    try:
        store = store_of(settings.source)
        found = None if store is None else store.files()
    except OSError:
        return None
    if store is None or found is None:
        return None
    return Landing(store, tuple(sorted(found)))


def forget(settings: IngestSettings) -> None:
    """Remove the hint: a run begins. Raises OSError."""
    store = store_of(settings.tables)
    if store is not None:
        store.remove(FILE)


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
    store = store_of(settings.tables)
    if store is None:
        return
    hint = {
        "format": FORMAT,
        "source": landing.store.name,
        "landed_sha256": landing.sha256,
        "refused": refused,
        "commits": store.commits(),
        "keys_sha256": _keys_sha256(settings),
        "report": report.as_json(),
    }
    store.write(FILE, json.dumps(hint).encode())


def report_if_unchanged(settings: IngestSettings) -> IngestReport | None:
    """Return the report of a run that finds nothing new, None where Spark has to look."""
    began = time.monotonic()
    try:
        store = store_of(settings.tables)
        if store is None:
            return None
        hint = json.loads(store.read(FILE, HINT_BYTES_MAX)[1])
        if hint["format"] != FORMAT or not store.has_commits(hint["commits"]):
            return None
        if hint.get("keys_sha256") != _keys_sha256(settings):
            return None
        landing = landing_of(settings)
        if landing is None or not _is_known(landing, hint) or store.has_begun():
            return None
        report = IngestReport.from_json(hint["report"])
    # Whatever another version or another program has written there: Spark looks.
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return report.without_news(settings.source, settings.tables, time.monotonic() - began)


def _is_known(landing: Landing, hint: Mapping[str, Any]) -> bool:
    if (landing.store.name, landing.sha256) != (hint["source"], hint["landed_sha256"]):
        return False
    refused: Mapping[str, list[list[object]]] = hint["refused"]
    names = ((path, os.path.basename(path)) for path in landing.paths)
    return all(
        _bytes_of(landing.store, path) in refused[name] for path, name in names if name in refused
    )


def _bytes_of(store: Store, path: str) -> list[object]:
    """Size and sha256 of a file, as `Refused` has them. Raises OSError."""
    size, content = store.read(path, SEGMENT_FILE_BYTES_MAX)
    if size > SEGMENT_FILE_BYTES_MAX:
        return [size, None]
    return [len(content), hashlib.sha256(content).hexdigest()]


def _keys_sha256(settings: IngestSettings) -> str | None:
    """Return what the keys file hashes to, None without one. Raises OSError."""
    if settings.keys is None:
        return None
    with settings.keys.open("rb") as file:
        return hashlib.sha256(file.read(KEYS_FILE_BYTES_MAX + 1)).hexdigest()
