"""Forged segments next to real ones: the tables have only what the gateway signed."""

from __future__ import annotations

from collections import Counter

from cloud_jobs.audit.signatures import signatures_of
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Ingested
from tests.cloud_jobs.forgeries import KEY, NEW, OTHER, THIRD

OURS = "gateway LIKE 'forged%'"


def test_each_forgery_goes_to_quarantine_with_its_reason(ingested: Ingested) -> None:
    rows = ingested.place.rows("quarantine", f"kind = 'segment' AND {OURS}")
    found = sorted((row.batch, row.gateway, row.reason) for row in rows)
    assert found == [
        (1, "forged", "bad_signature"),
        (1, "forged", "foreign_key"),
        (1, "forged", "foreign_key"),
        (1, "forged", "unsigned"),
        (1, "forged", "unsigned"),
        (1, "forged", "wrong_prefix"),
        (2, "forged-3", "foreign_key"),
    ]


def test_the_real_events_are_in_the_tables_and_no_forged_one_is(ingested: Ingested) -> None:
    rows = ingested.place.rows("events", OURS)
    mine = [row.sequence for row in rows if row.gateway == "forged"]
    assert sorted(mine) == list(range(1, 10))
    assert "forger" not in {row.client_id for row in rows}
    assert {row.gateway for row in rows} == {"forged", "forged-2", "forged-3", "forged-old"}
    assert ingested.place.rows("quarantine", f"kind = 'event' AND {OURS}") == []


def test_keys_are_kept_with_where_they_come_from(ingested: Ingested) -> None:
    rows = ingested.place.rows("gateway_keys", OURS)
    found = {(row.gateway, row.public_key, row.source, row.segment, row.batch) for row in rows}
    assert found == {
        ("forged", KEY, "pinned", 1, 2),
        ("forged", NEW, "pinned", None, 2),
        ("forged-2", OTHER, "first_use", 1, 1),
        ("forged-3", THIRD, "first_use", 1, 1),
    }


def test_a_new_key_waits_for_the_keys_file_and_is_ingested_then(ingested: Ingested) -> None:
    rows = ingested.place.rows("segments", f"state = 'ingested' AND {OURS}")
    assert Counter(row.batch for row in rows) == {1: 4, 2: 3}


def test_each_segment_that_was_ingested_is_counted_with_its_signer(ingested: Ingested) -> None:
    found = signatures_of(Tables(ingested.place.spark, ingested.place.settings.tables))
    assert {
        (one["gateway"], one["public_key"], one["segments"])
        for one in found
        if one["gateway"].startswith("forged")
    } == {
        ("forged", KEY, 2),
        ("forged", NEW, 1),
        ("forged-2", OTHER, 1),
        ("forged-3", THIRD, 2),
        ("forged-old", None, 1),
    }
