"""Audit of the tables: an independent implementation of the checks in the gateway's own audit.

Spark computes the findings. The driver collects only counts, and a limited number of findings. A
finding is a violation only if the log is complete between the two events that contradict each
other. Otherwise, the finding is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.audit import fan_out, identifiers, queues, sessions
from cloud_jobs.audit.findings import FINDING, SESSION, STORE, WHOLE_ONLY, finding, is_event
from cloud_jobs.audit.gaps import gaps_of, log_gaps
from cloud_jobs.audit.signatures import signatures_of
from cloud_jobs.errors import IngestError, first_line_of, spark_failures
from cloud_jobs.limits import AUDIT_EXCEPTIONS_MAX
from cloud_jobs.spark.few_rows import held
from cloud_jobs.tables.delta_tables import Tables

Progress = Callable[[str], None]

AUDITED: Final = (
    *STORE, "sequence", "time", "event", "session", "client_id", "message", "packet_id", "topic",
    "qos", "matched", "origin", "position", "packet", "reason", "filter", "protocol", "detail",
    "segment_name", "from_sequence", "to_sequence",
)  # fmt: skip
"""Columns of `events` that the checks use."""


def audit_tables(spark: SparkSession, tables_root: str, progress: Progress) -> dict[str, Any]:
    """Audit the tables below a directory or URL. Return the result as JSON values.

    Raises IngestError if the tables cannot be audited.
    """
    tables = Tables(spark, tables_root)
    try:
        return _audited(tables, progress)
    except spark_failures() as error:
        raise IngestError(
            f"the tables in {tables_root} cannot be audited: {first_line_of(error)} (are they "
            "those that `oncegate ingest` wrote?)"
        ) from error


def _audited(tables: Tables, progress: Progress) -> dict[str, Any]:
    with audit_of(tables, progress) as audit:
        return _result(tables, audit)


@dataclass(frozen=True, slots=True)
class Audit:
    """Result of an audit: the audited events, the findings, and the gaps in the log."""

    events: DataFrame
    findings: DataFrame
    gaps: DataFrame
    """Gaps and other parts of the log that are not proved (`log_gaps`)."""
    holes: DataFrame
    """The gaps by segment (`gaps_of`)."""


@contextmanager
def audit_of(
    tables: Tables, progress: Progress = lambda _: None, events: DataFrame | None = None
) -> Iterator[Audit]:
    """Audit the tables, and yield the result. It is held until the `with` statement ends.

    `events` are the events to audit, with the columns AUDITED. None: all events in the tables.
    """
    with ExitStack() as stack:

        def keep(rows: DataFrame) -> DataFrame:
            return stack.enter_context(held(rows))

        progress("looking for what is missing")
        # All checks use the events. Without the cache, each check would read the table.
        events = keep(tables.read("events").select(*AUDITED) if events is None else events)
        holes = gaps_of(tables.read("segments"), events)
        gaps = keep(log_gaps(tables, events, holes))
        progress("walking over identifiers, queues and releases")
        findings = keep(with_verdicts(findings_of(events, gaps, keep), gaps))
        yield Audit(events, findings, gaps, holes)


def findings_of(
    events: DataFrame, gaps: DataFrame, keep: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """Return the findings of all checks. The function `with_verdicts` adds their final verdicts.

    `gaps` is the result of `log_gaps`. `keep` is a function that holds the rows of a
    DataFrame (see `held`) and returns them. It is called for rows that several checks use.
    """
    used = keep(identifiers.uses_of(events))
    positions = keep(queues.position_uses(events))
    waiting = keep(queues.waiting_messages(positions, events))
    first_gap = gaps.groupBy(*STORE).agg(F.min("at").alias("first_gap"))
    releases = fan_out.releases_of(events).join(first_gap, list(STORE), "left")
    broken = F.coalesce(F.col("first_gap") <= F.col("released_at"), F.lit(False))
    releases = keep(releases.withColumn("broken", broken).drop("first_gap"))
    entries = keep(fan_out.entries_of(events, positions))
    with_release, late = map(keep, fan_out.split_entries(releases, entries))
    matched = keep(
        fan_out.matches_of(
            releases.drop("broken", "message", "time", "publisher", "matched"), events
        )
    )
    counted = keep(fan_out.with_counts(releases, with_release, events))
    every = [
        identifiers.wrong_identifiers(used, events),
        identifiers.received_twice(events),
        queues.wrong_positions(positions),
        sessions.absent_sessions(events),
        fan_out.wrong_releases(counted, matched, with_release, events),
    ]
    # Without rows to check, Spark would still plan these queries.
    if not waiting.isEmpty():
        every.append(queues.overtaken(waiting))
    if not late.isEmpty():
        every.append(fan_out.unexplained_entries(late, events))
    if not gaps.isEmpty():
        every.append(unknown_outcomes(used, waiting, events, gaps))
    return reduce(DataFrame.unionByName, every).select(*FINDING)


def unknown_outcomes(
    used: DataFrame, waiting: DataFrame, events: DataFrame, gaps: DataFrame
) -> DataFrame:
    """Find messages that were unfinished at the last gap in the log, and not finished later.

    They may have been finished by an event that is missing, so the findings are inconclusive.
    `used` is the result of `identifiers.uses_of`, `waiting` is the result of
    `queues.waiting_messages`, and `gaps` is the result of `log_gaps`.
    """
    ended = events.where(is_event("session_ended")).select(*SESSION)
    last_gap = gaps.groupBy(*STORE).agg(F.max("at").alias("last_gap"))
    columns = (*SESSION, "message", "sequence", "check_name")
    is_held = F.col("after") == "held"
    taken = used.where("is_last AND after != 'free'").withColumn(
        "check_name", F.when(is_held, "released_once").otherwise("delivery")
    )
    queued = waiting.where("NOT is_passed").withColumn("check_name", F.lit("delivery"))
    rows = (
        taken.select(*columns)
        .unionByName(queued.select(*columns))
        .join(ended, list(SESSION), "left_anti")
        .join(last_gap, list(STORE))
        .where("sequence < last_gap")
    )
    detail = F.concat(
        F.lit("how message "), "message", F.lit(" ended is not known: events are missing")
    )
    return finding(rows, F.col("check_name"), detail, F.col("sequence"), "inconclusive")


def with_verdicts(found: DataFrame, gaps: DataFrame) -> DataFrame:
    """Return the findings with their final verdicts, and one more finding for each gap.

    `found` is the result of `findings_of`, and `gaps` is the result of `log_gaps`. If there is a
    gap between the two events of a finding, the finding is inconclusive, or is removed if its
    verdict is WHOLE_ONLY.
    """
    here = gaps.select(*(F.col(name).alias(f"of_{name}") for name in STORE), "at")
    between = (
        (F.col("gateway") == F.col("of_gateway"))
        & (F.col("store") == F.col("of_store"))
        & (F.col("since") < F.col("at"))
        & (F.col("at") <= F.col("sequence"))
    )
    doubtful = F.max("at").isNotNull()
    whole_only = F.col("verdict") == WHOLE_ONLY
    return (
        found.join(here, between, "left")
        .groupBy(*FINDING)
        .agg(doubtful.alias("is_doubtful"))
        .where(~(F.col("is_doubtful") & whole_only))
        .withColumn(
            "verdict",
            F.when(F.col("is_doubtful"), "inconclusive")
            .when(whole_only, "violation")
            .otherwise(F.col("verdict")),
        )
        .select(*FINDING)
        .unionByName(_log_findings(gaps))
    )


def _log_findings(gaps: DataFrame) -> DataFrame:
    nothing = F.lit(None).cast("long")
    rows = gaps.withColumn("message", nothing).withColumn("session", nothing)
    rows = rows.withColumn("sequence", F.col("at"))
    return finding(rows, "log", F.col("detail"), F.lit(0), "inconclusive")


def _result(tables: Tables, audit: Audit) -> dict[str, Any]:
    events, found = audit.events, audit.findings
    totals = {row["verdict"]: row["count"] for row in found.groupBy("verdict").count().collect()}
    violations, doubts = totals.get("violation", 0), totals.get("inconclusive", 0)
    counts = _counts(tables, events)
    verdict = "violation" if violations else "ok"
    if not violations and (doubts or not counts["events"]):
        verdict = "inconclusive"
    exceptions = _exceptions(events, found)
    return {
        "source": tables.root,
        "verdict": verdict,
        "violations": violations,
        "inconclusive": doubts,
        "counts": counts,
        "signatures": signatures_of(tables),
        "exceptions": exceptions,
        "exceptions_not_shown": violations + doubts - len(exceptions),
        "seconds": 0.0,
    }


def _exceptions(events: DataFrame, found: DataFrame) -> list[dict[str, Any]]:
    """Return at most AUDIT_EXCEPTIONS_MAX findings as JSON values, violations first."""
    chosen = found.orderBy(F.col("verdict").desc(), *STORE, "sequence").limit(AUDIT_EXCEPTIONS_MAX)
    segments = events.select(*STORE, "sequence", "segment_name")
    names = events.where("session IS NOT NULL").groupBy(*SESSION)
    clients = names.agg(F.max("client_id").alias("client_id"))
    rows = (
        chosen.join(segments, [*STORE, "sequence"], "left")
        .join(clients, list(SESSION), "left")
        .orderBy(F.col("verdict").desc(), *STORE, "sequence")
    )
    named = ("gateway", "store", "detail", "message", "session", "client_id")
    return [
        {"verdict": row["verdict"], "check": row["check_name"]}
        | {name: row[name] for name in named}
        | {
            "sequences": sorted({row["since"] or row["sequence"], row["sequence"]}),
            "segment": row["segment_name"],
        }
        for row in rows.collect()
    ]


def _counts(tables: Tables, events: DataFrame) -> dict[str, int]:
    def number_of(condition: Column) -> Column:
        return F.count_if(condition)

    expired = F.col("reason") == "expired"
    is_new = F.col("position").isNotNull()
    row = events.agg(
        F.count("*").alias("events"),
        number_of(is_event("message_held")).alias("held"),
        number_of(is_event("duplicate_suppressed")).alias("duplicates_suppressed"),
        number_of(is_event("message_released")).alias("released"),
        number_of(is_event("message_abandoned")).alias("abandoned"),
        number_of(is_event("message_published")).alias("published"),
        F.coalesce(F.sum("matched"), F.lit(0)).alias("matched"),
        F.count_distinct(
            F.when(is_new, F.struct(*SESSION, "position"))
        ).alias("entries"),
        number_of(is_event("delivery_completed")).alias("completed"),
        number_of(is_event("message_dropped") & ~expired).alias("dropped"),
        number_of(is_event("message_dropped") & expired).alias("expired"),
    ).first()  # fmt: skip
    assert row is not None
    segments = tables.read("segments").where("state = 'ingested'").count()
    return {"segments": segments} | {name: int(value) for name, value in row.asDict().items()}
