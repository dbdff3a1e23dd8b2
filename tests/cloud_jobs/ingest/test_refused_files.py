"""A refused file is read again when its bytes, its folder or the keys have changed."""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.ingest import refused_files
from cloud_jobs.ingest.keys_file import Pinned
from cloud_jobs.ingest.refused_files import bytes_of, still_refused
from cloud_jobs.ingest.trust import FOREIGN_KEY, WRONG_PREFIX
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Place

NOW = datetime(2026, 11, 25, tzinfo=UTC)


@pytest.fixture
def tables(place: Place, empty_tables: Path) -> Tables:
    shutil.copytree(empty_tables, place.settings.tables)
    return Tables(place.spark, place.settings.tables)


def write(place: Place, name: str, content: bytes) -> str:
    (place.landing / name).write_bytes(content)
    return f"file:{place.landing / name}"


def in_quarantine(path: str, reason: str = "cut", **columns: Any) -> dict[str, Any]:
    """Return a refused file with the columns of `segments`."""
    known = {"gateway": "gw-1", "public_key": "k1", "refused_path": path}
    return {"path": path, "reason": reason, **known, **columns}


def refuse(tables: Tables, batch: int, name: str, size: int, content: bytes | None) -> None:
    """Add a row to `quarantine`."""
    sha256 = None if content is None else hashlib.sha256(content).hexdigest()
    row = {"batch": batch, "kind": "segment", "segment_name": name, "file_bytes": size}
    tables.add_rows("quarantine", [row | {"file_sha256": sha256}], batch=batch)


def test_a_file_with_the_bytes_that_were_refused_is_not_looked_at(
    place: Place, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other, empty = (
        write(place, "a[1].zst", b"bad"), write(place, "b.zst", b"BAD"), write(place, "e.zst", b"")
    )  # fmt: skip
    files = [in_quarantine(one) for one in (path, other, empty)]
    assert still_refused(tables, files, {}) == frozenset()
    for batch, name in enumerate(("a[1].zst", "b.zst"), 1):
        refuse(tables, batch, name, 3, b"bad")
    refuse(tables, 3, "e.zst", 0, b"")
    assert still_refused(tables, files, {}) == {path, empty}
    refuse(tables, 4, "b.zst", 3, None)
    assert other not in still_refused(tables, files, {})
    monkeypatch.setattr(refused_files, "SEGMENT_FILE_BYTES_MAX", 2)
    assert bytes_of(place.spark, [path, other]) == {path: (3, None), other: (3, None)}
    assert still_refused(tables, files, {}) == {other, empty}


def test_a_key_that_was_added_and_another_folder_let_it_be_looked_at(
    place: Place, tables: Tables
) -> None:
    path = write(place, "a.zst", b"bad")
    refuse(tables, 1, "a.zst", 3, b"bad")
    files = [in_quarantine(path, FOREIGN_KEY)]
    assert still_refused(tables, files, {}) == {path}
    assert still_refused(tables, files, {"gw-1": Pinned(("k1",))}) == set()
    key = {"gateway": "gw-1", "public_key": "k1", "source": "first_use", "batch": 1,
           "added_at": NOW}  # fmt: skip
    tables.add_rows("gateway_keys", [key | {"is_withdrawn": True}], batch=1)
    assert still_refused(tables, files, {}) == {path}
    tables.add_rows("gateway_keys", [key | {"is_withdrawn": False}], batch=2)
    assert still_refused(tables, files, {}) == set()
    # If the keys file names a gateway, only the keys in this file are valid for the gateway.
    assert still_refused(tables, files, {"gw-1": Pinned(("k2",))}) == {path}
    misplaced = in_quarantine(path, WRONG_PREFIX)
    assert still_refused(tables, [misplaced], {}) == {path}
    moved = misplaced | {"refused_path": "file:/elsewhere/a.zst"}
    assert still_refused(tables, [moved], {}) == set()
