"""Audits that are continued after each event of all cases of tests/audit_checks/cases.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.carried import MARK, carried_of, not_continued, not_judged_before
from cloud_jobs.audit.run import AUDITED, findings_of, with_verdicts
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.few_rows import held
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import CARRIED_EVENTS
from tests.audit_checks.cases import CASES
from tests.cloud_jobs.conftest import Ingested

Keep = Callable[[DataFrame], DataFrame]


@contextmanager
def keeping(ingested: Ingested) -> Iterator[Keep]:
    """Yield a function that holds rows until the `with` statement ends."""
    with small_effort(ingested.place.spark), ExitStack() as stack:
        yield lambda rows: stack.enter_context(held(rows))


def events_of_cases(ingested: Ingested) -> DataFrame:
    names = [case.gateway for case in CASES]
    tables = Tables(ingested.place.spark, ingested.place.settings.tables)
    return tables.read("events").where(F.col("gateway").isin(names)).select(*AUDITED)


def cut_everywhere(events: DataFrame) -> DataFrame:
    """Return each log once for each of its events, as another gateway. `cut` is the event."""
    cuts = events.select("gateway", F.col("sequence").alias("cut"))
    name = F.concat("gateway", F.lit("@"), F.col("cut").cast("string"))
    return events.join(cuts, "gateway").withColumn("gateway", name)


def findings(events: DataFrame, keep: Keep) -> DataFrame:
    """Return the findings in logs without gaps."""
    columns = "gateway string, store string, at long, detail string"
    gaps = events.sparkSession.createDataFrame([], columns)
    return keep(with_verdicts(findings_of(events, gaps, keep), gaps))


def gateways(rows: DataFrame) -> set[str]:
    return {row["gateway"] for row in rows.select("gateway").distinct().collect()}


def part(rows: DataFrame, condition: Column | str) -> DataFrame:
    return rows.where(condition).select(*AUDITED)


def test_a_continued_audit_finds_something_just_where_a_whole_audit_does(
    ingested: Ingested,
) -> None:
    with keeping(ingested) as keep:
        events = keep(events_of_cases(ingested))
        rows = keep(cut_everywhere(events))
        judged = findings(part(rows, "sequence <= cut"), keep).select("gateway").distinct()
        clean = keep(rows.join(judged, "gateway", "left_anti"))
        later = part(clean, "sequence > cut")
        carried = keep(carried_of(part(clean, "sequence <= cut")))
        found = not_judged_before(findings(later.unionByName(carried), keep), carried)
        doubtful = gateways(found) | gateways(not_continued(later, carried))
        wrong = gateways(findings(events, keep))
        expected = {name for name in gateways(clean) if name.rpartition("@")[0] in wrong}
    assert len(expected) > 100
    assert doubtful == expected


@pytest.mark.long
def test_events_are_carried_the_same_in_one_step_or_two(ingested: Ingested) -> None:
    with keeping(ingested) as keep:
        rows = cut_everywhere(events_of_cases(ingested))
        rows = rows.withColumn("first_cut", F.greatest(F.col("cut") - 3, F.lit(1)))
        rows = keep(rows.where("sequence <= cut"))
        directly = carried_of(part(rows, "true"))
        before = carried_of(part(rows, "sequence <= first_cut"))
        again = carried_of(before.unionByName(part(rows, "sequence > first_cut")))
        columns = ("gateway", "store", "sequence", "event")
        expected, found = (
            {tuple(row) for row in each.select(*columns).collect()} for each in (directly, again)
        )
    wrong = {case.gateway for case in CASES if case.verdict != "ok"}
    assert {row for row in found ^ expected if row[0].rpartition("@")[0] not in wrong} == set()


def test_a_mark_names_the_last_event_and_the_last_batch_of_records(ingested: Ingested) -> None:
    with keeping(ingested) as keep:
        events = keep(events_of_cases(ingested).where("gateway = 'still-queued-and-in-flight'"))
        carried = carried_of(events)
        (mark,) = carried.where(F.col("event") == MARK).collect()
        kinds = {row["event"] for row in carried.collect()}
    assert (mark["sequence"], mark["message"], mark["from_sequence"]) == (9, 2, 8)
    assert kinds >= {"session_opened", "subscribed", "delivery_started", "message_queued"}


def test_the_table_has_the_columns_that_the_audit_reads() -> None:
    assert {*CARRIED_EVENTS.fieldNames()} == {*AUDITED, "batch"}
