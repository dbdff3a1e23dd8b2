"""Verdicts on single messages and deliveries, with the cases that both audits share."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.audit.run import Audit
from cloud_jobs.gold.verdicts import merge_message_verdicts
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import QOS2_MESSAGES
from tests.audit_checks.cases import CASES, Case
from tests.cloud_jobs.conftest import Place

OF_LOWER_QOS = {"published-twice"}
"""Cases on messages that have no row: only `audit_daily` has their verdict."""


@pytest.fixture(scope="module")
def verdicts(golden: Place) -> list[tuple[str, str | None]]:
    """Return the gateway and the verdict of each message and each delivery."""
    tables = (golden.rows(name) for name in ("qos2_messages", "qos2_deliveries"))
    return [(row["gateway"], row["verdict"]) for rows in tables for row in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.gateway)
def test_messages_and_deliveries_have_the_verdict_of_their_case(
    verdicts: list[tuple[str, str | None]], case: Case
) -> None:
    rows = [verdict for gateway, verdict in verdicts if gateway == case.gateway]
    assert None not in rows
    is_broken = case.verdict == "violation" and case.gateway not in OF_LOWER_QOS
    assert ("violation" in rows) is is_broken
    if case.verdict == "ok":
        assert set(rows) == {"ok"}
    elif case.checks - {"log"} and case.gateway not in OF_LOWER_QOS:
        assert case.verdict in rows


def test_only_changed_verdicts_are_written(spark: SparkSession, tmp_path: Path) -> None:
    gold = Tables(spark, str(tmp_path), {"qos2_messages": QOS2_MESSAGES}, marker="qos2_messages")
    making.create(gold)
    lives = [{"gateway": "gw", "store": "s", "message": number, "held_sequence": 2 * number,
              "released_sequence": 2 * number + 1} for number in (1, 2, 3)]  # fmt: skip
    gold.add_rows("qos2_messages", lives, batch=1)
    gaps = spark.createDataFrame([("gw", "", 5)], "gateway string, store string, at long")

    def written(verdict: str) -> tuple[dict[int, str], int]:
        found = spark.createDataFrame(
            [("gw", "s", 3, "duplicate", verdict)],
            "gateway string, store string, message long, check_name string, verdict string",
        )
        merge_message_verdicts(gold, Audit(found, found, gaps))
        history = spark.sql(f"DESCRIBE HISTORY delta.`{gold.path('qos2_messages')}`")
        rows = {row["message"]: row["verdict"] for row in gold.read("qos2_messages").collect()}
        return rows, history.count()

    first, commits = written("violation")
    assert first == {1: "ok", 2: "inconclusive", 3: "violation"}
    assert written("violation") == (first, commits)
    assert written("inconclusive") == (first | {3: "inconclusive"}, commits + 1)
