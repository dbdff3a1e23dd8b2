"""Verdicts on single messages and deliveries, with the cases that both audits share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from cloud_jobs.audit.run import Audit
from cloud_jobs.gold.held_tables import held_tables
from cloud_jobs.gold.totals import merge_totals
from cloud_jobs.gold.verdicts import message_verdicts
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


GAPS = "gateway string, store string, at long"
FINDINGS = "gateway string, store string, message long, check_name string, verdict string"


class Messages:
    """The table `qos2_messages`, with a gap before event 5 of the gateway."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        schemas = {"qos2_messages": QOS2_MESSAGES}
        self.gold = held_tables(Tables(spark, str(root), schemas, marker="qos2_messages"))
        making.create(self.gold)

    def run(self, first: int, rows: list[dict[str, Any]], verdict: str) -> dict[int, str]:
        """Add rows. Message 3 has a finding with this verdict. Return the verdicts."""
        spark = self.gold.spark
        found = spark.createDataFrame([("gw", "s", 3, "duplicate", verdict)], FINDINGS)
        gaps = spark.createDataFrame([("gw", "", 5)], GAPS)
        empty = {"gateway": "gw", "store": "s", "batch": first, "duplicates": 0}
        new = self.gold.frame("qos2_messages", [empty | row for row in rows])
        audit = Audit(found, found, gaps, found)
        changed = message_verdicts(self.gold.read("qos2_messages"), new, audit)
        merge_totals(self.gold, "qos2_messages", new, first, changed)
        return {row["message"]: row["verdict"] for row in self.rows()}

    def rows(self) -> list[Row]:
        return self.gold.read("qos2_messages").collect()

    def commits(self) -> int:
        path = self.gold.path("qos2_messages")
        return self.gold.spark.sql(f"DESCRIBE HISTORY delta.`{path}`").count()


@pytest.fixture
def messages(spark: SparkSession, tmp_path: Path) -> Messages:
    return Messages(spark, tmp_path)


def test_new_messages_are_written_with_their_verdicts_and_others_only_if_a_verdict_changed(
    messages: Messages,
) -> None:
    before = messages.commits()
    new = [{"message": number, "held_sequence": 2 * number, "released_sequence": 2 * number + 1}
           for number in (1, 2, 3)]  # fmt: skip
    first = messages.run(1, new, "violation")
    assert first == {1: "ok", 2: "inconclusive", 3: "violation"}
    assert messages.commits() == before + 1
    assert messages.run(2, [], "violation") == first
    assert messages.commits() == before + 1
    assert messages.run(2, [], "inconclusive") == first | {3: "inconclusive"}
    assert messages.commits() == before + 2


def test_a_message_is_judged_by_the_events_of_all_runs_and_counted_once(
    messages: Messages,
) -> None:
    held = {"message": 1, "held_sequence": 2, "duplicates": 1}
    assert messages.run(1, [held], "ok") == {1: "inconclusive"}
    earlier = {"message": 2, "held_sequence": 1, "released_sequence": 3}
    assert messages.run(2, [earlier], "ok") == {1: "inconclusive", 2: "ok"}
    released = {"message": 1, "released_sequence": 4, "duplicates": 1}
    # The gap is before event 5, so the message ended before it.
    assert messages.run(3, [released], "ok") == {1: "ok", 2: "ok"}
    assert messages.run(3, [released], "ok") == {1: "ok", 2: "ok"}  # as after a crash
    (row,) = [row for row in messages.rows() if row["message"] == 1]
    assert (row["duplicates"], row["state"], row["batch"]) == (2, "released", 3)
