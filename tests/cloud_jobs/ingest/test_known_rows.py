"""Rows held in memory give Spark's results, and are released when they may be outdated."""

from __future__ import annotations

import pytest

from cloud_jobs.ingest import known_rows
from cloud_jobs.ingest.gateway_keys import confirmed_files, known_keys
from cloud_jobs.ingest.known_rows import HELD, KnownRows, files_to_examine
from cloud_jobs.ingest.landing import list_landed
from cloud_jobs.ingest.segment_states import ledger_of
from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Ingested


def test_held_rows_answer_as_spark_does(ingested: Ingested) -> None:
    place = ingested.place
    tables = Tables(place.spark, place.settings.tables)
    held = KnownRows(tables, is_alone=True)
    rows = [row.asDict() for row in place.rows("segments")]
    trusted = [row for row in rows if row["state"] == "ingested"]
    names = ("path", "folder", "name", "gateway", "segment", "first_sequence", "last_sequence",
             "public_key", "boot", "file_sha256", "previous_sha256")  # fmt: skip
    files = [SignedFile(*(row[name] for name in names)) for row in trusted]
    for batch in (1, 3):
        assert ledger_of(held, rows, files, batch) == ledger_of(tables, rows, files, batch)
    (mine, of_spark) = (known_keys(known, files, {}, 2) for known in (held, tables))
    assert sorted(map(repr, mine.rows)) == sorted(map(repr, of_spark.rows))
    assert mine.any_of_batch == of_spark.any_of_batch
    assert sorted(confirmed_files(held, files)) == sorted(confirmed_files(tables, files))
    assert ledger_of(held, rows, [], 3) == ledger_of(tables, rows, [], 3)
    listed = list_landed(tables, place.settings.source)
    assert list_landed(tables, place.settings.source, known=held) == listed


def test_rows_are_added_and_not_held_beside_another_run_or_when_too_many(
    ingested: Ingested, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables(ingested.place.spark, ingested.place.settings.tables)
    count = "SELECT count(*) AS number FROM {segments}"
    (stored,) = tables.query(count)
    assert KnownRows(tables).load() is None
    assert KnownRows(tables).query(count) == [stored]
    held = KnownRows(tables, is_alone=True)
    assert held.query(count) == [stored]
    new = dict.fromkeys(HELD["segments"]) | {"name": "new", "state": "ingested"}
    held.add("segments", [new])
    assert held.query(count) == [{"number": stored["number"] + 1}]
    monkeypatch.setattr(known_rows, "SEGMENTS_HELD_MAX", stored["number"] + 1)
    held.add("segments", [new | {"name": "newer"}])
    assert held.load() is None
    assert held.query(count) == [stored], "Spark is queried"


def test_new_files_and_refused_ones_are_open() -> None:
    columns = dict.fromkeys(("reason", "gateway", "public_key", "refused_path"))
    known = [{**columns, "name": name, "state": name} for name in ("ingested", "quarantined")]
    paths = [f"file:/landed/{name}" for name in ("ingested", "quarantined", "new")]
    refused, new = files_to_examine(known, paths, ["ingested"])
    assert (refused["path"], refused["state"]) == (paths[1], "quarantined")
    assert (new["path"], new["state"]) == (paths[2], None)
