"""What was refused is looked at again when its bytes, its folder or the keys have changed."""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest import landed_file
from cloud_jobs.ingest.keys_file import Pinned
from cloud_jobs.ingest.landed_file import LOCAL
from cloud_jobs.ingest.refused_files import Refused, refused_of, still_refused
from cloud_jobs.ingest.trust import FOREIGN_KEY, WRONG_PREFIX
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Ingested, Place

NOW = datetime(2026, 11, 25, tzinfo=UTC)


@pytest.fixture
def tables(place: Place, empty_tables: Path) -> Tables:
    shutil.copytree(empty_tables, place.settings.tables)
    return Tables(place.spark, place.settings.tables)


def write(place: Place, name: str, content: bytes) -> str:
    (place.landing / name).write_bytes(content)
    return f"{LOCAL}{place.landing / name}"


def known(name: str, content: bytes) -> Refused:
    return {name: {(len(content), hashlib.sha256(content).hexdigest())}}


def test_a_file_with_the_bytes_that_were_refused_is_not_looked_at(
    place: Place, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(place, "a.zst", b"bad")
    for refused, expected in (
        (known("a.zst", b"bad"), {path}),
        (known("a.zst", b"BAD"), set()),
        ({"a.zst": {*known("a.zst", b"bad")["a.zst"], (9, None)}}, {path}),
    ):
        assert still_refused(tables, [path], refused, {}) == expected
    empty = write(place, "e.zst", b"")
    assert still_refused(tables, [empty], known("e.zst", b""), {}) == {empty}
    monkeypatch.setattr(landed_file, "SEGMENT_FILE_BYTES_MAX", 2)
    assert still_refused(tables, [path], {"a.zst": [(3, None)]}, {}) == {path}
    assert still_refused(tables, [path], {"a.zst": [(4, None)]}, {}) == set()


def test_a_key_that_was_added_and_another_folder_let_it_be_looked_at(
    place: Place, tables: Tables
) -> None:
    path = write(place, "a.zst", b"bad")
    refused = known("a.zst", b"bad")
    row: dict[str, Any] = {"name": "a.zst", "state": "quarantined", "gateway": "gw-1", "batch": 1,
                           "public_key": "k1", "path": path, "verified_at": NOW}  # fmt: skip
    tables.add_rows("segments", [row | {"reason": FOREIGN_KEY}], batch=1)
    assert still_refused(tables, [path], refused, {}) == {path}
    assert still_refused(tables, [path], refused, {"gw-1": Pinned(("k1",))}) == set()
    key = {"gateway": "gw-1", "public_key": "k1", "source": "first_use", "batch": 1,
           "added_at": NOW}  # fmt: skip
    tables.add_rows("gateway_keys", [key | {"is_withdrawn": True}], batch=1)
    assert still_refused(tables, [path], refused, {}) == {path}
    tables.add_rows("gateway_keys", [key | {"is_withdrawn": False}], batch=2)
    assert still_refused(tables, [path], refused, {}) == set()
    # A gateway that the keys file names has the keys that stand there, and no others.
    assert still_refused(tables, [path], refused, {"gw-1": Pinned(("k2",))}) == {path}
    other = write(place, "b.zst", b"bad")
    of_b = row | {"name": "b.zst", "reason": WRONG_PREFIX, "path": "file:/elsewhere/b.zst"}
    tables.add_rows("segments", [of_b], batch=2)
    assert still_refused(tables, [other], known("b.zst", b"bad"), {}) == set()


def test_a_file_that_cannot_be_read_is_an_error_with_the_mend(tables: Tables) -> None:
    with pytest.raises(IngestError, match=r"file:/none/a.zst cannot be read: .* run it"):
        still_refused(tables, ["file:/none/a.zst"], {"a.zst": []}, {})


def test_refused_names_are_found_among_others(ingested: Ingested) -> None:
    tables = Tables(ingested.place.spark, ingested.place.settings.tables)
    rows = ingested.place.rows("quarantine", "kind = 'segment'")
    names = {row.segment_name for row in rows}
    found = refused_of(tables, names | {"other.zst"})
    assert {*found} == names
    assert {(name, *of) for name, ofs in found.items() for of in ofs} == {
        (row.segment_name, row.file_bytes, row.file_sha256) for row in rows
    }
    assert refused_of(tables, set()) == {}
