"""The segments that each key vouches for, and the segments for which no key does."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.audit.signatures import signatures_of, untrusted_segments
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import GATEWAY_KEYS, SEGMENTS
from tests.cloud_jobs.conftest import Ingested, Place

KEY, WITHDRAWN = "aa" * 32, "bb" * 32
NOW = datetime(2026, 11, 23, tzinfo=UTC)


def segment(number: int, public_key: str | None, state: str = "ingested") -> dict[str, Any]:
    return {
        "name": f"{number}-{public_key}",
        "state": state,
        "gateway": "gw-1",
        "store": "s",
        "segment": number,
        "first_sequence": 10 * number - 9,
        "last_sequence": 10 * number,
        "batch": 1,
        "public_key": public_key,
    }


@pytest.fixture(scope="module")
def tables(
    spark: SparkSession, empty_tables: Path, tmp_path_factory: pytest.TempPathFactory
) -> Tables:
    """The tables of a gateway with unsigned segments 1 and 4 around its first signed one, 3.

    Segment 5 is signed with a key that was withdrawn.
    """
    root = shutil.copytree(empty_tables, tmp_path_factory.mktemp("signed") / "tables")
    tables = Tables(spark, str(root))
    segments = [
        segment(1, None),
        segment(3, KEY),
        segment(4, None),
        segment(5, WITHDRAWN),
        segment(6, WITHDRAWN, "quarantined"),
    ]
    keys = [
        {"gateway": "gw-1", "public_key": KEY, "source": "first_use", "is_withdrawn": False}
        | {"segment": 3, "first_sequence": 21, "batch": 1, "added_at": NOW},
        {"gateway": "gw-1", "public_key": WITHDRAWN, "source": "pinned", "is_withdrawn": True}
        | {"batch": 1, "added_at": NOW},
    ]
    for name, schema, rows in (
        ("segments", SEGMENTS, segments),
        ("gateway_keys", GATEWAY_KEYS, keys),
    ):
        tables.append(name, spark.createDataFrame(rows, schema), batch=1)
    return tables


def test_segments_are_counted_by_the_key_that_signed_them(tables: Tables) -> None:
    assert signatures_of(tables) == [
        {"gateway": "gw-1", "public_key": None, "segments": 2},
        {"gateway": "gw-1", "public_key": KEY, "segments": 1},
        {"gateway": "gw-1", "public_key": WITHDRAWN, "segments": 1},
    ]


def test_what_was_taken_and_no_key_vouches_for_is_found(tables: Tables) -> None:
    rows = untrusted_segments(tables)
    assert rows is not None
    found = {row["at"]: row["detail"] for row in rows.collect()}
    assert found == {
        31: "segment 4 is unsigned, and was taken before the gateway's first signed one landed",
        41: f"segment 5 is signed by the withdrawn key {WITHDRAWN}",
    }


def test_the_signers_of_what_was_ingested_are_in_the_audit(
    audit: dict[str, Any], ingested: Ingested
) -> None:
    rows = ingested.place.rows("segments", "state = 'ingested'")
    signers = Counter((row.gateway, row.public_key) for row in rows)
    found = {(one["gateway"], one["public_key"]): one["segments"] for one in audit["signatures"]}
    assert found == signers
    assert any(public_key is not None for _, public_key in signers)


def test_tables_of_a_version_without_keys_are_all_unsigned(place: Place) -> None:
    tables = Tables(place.spark, place.settings.tables)
    earlier = SEGMENTS.fields[: SEGMENTS.fieldNames().index("folder")]
    columns = [field.name for field in earlier]
    row = {name: value for name, value in segment(1, None).items() if name in columns}
    found = place.spark.createDataFrame([row], SEGMENTS).select(*columns)
    found.write.format("delta").save(tables.path("segments"))
    assert untrusted_segments(tables) is None
    assert signatures_of(tables) == [{"gateway": "gw-1", "public_key": None, "segments": 1}]
