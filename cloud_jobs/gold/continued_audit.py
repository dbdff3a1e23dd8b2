"""Audits the gateways of a run. An audit that found nothing is continued with the new events.

If a continued audit finds something, or cannot judge it, the gateway's whole log is audited. The
verdicts are therefore those of an audit of all events (docs/decisions/0193).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.carried import carried_of, not_continued, not_judged_before
from cloud_jobs.audit.run import AUDITED, Audit, audit_of
from cloud_jobs.limits import GATEWAYS_PER_RUN_MAX
from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables

CARRIED: Final = "carried_events"


class Plan(NamedTuple):
    """The plan for the audits of a run's gateways."""

    since: int
    """The first batch that was not audited yet."""
    ready: frozenset[str]
    """Gateways whose audits can be continued with the events since this batch."""
    others: frozenset[str]
    """Gateways whose events are all audited."""
    events: int
    """How many events are audited."""


@dataclass(frozen=True, slots=True)
class GoldAudit(Audit):
    """Result of an audit of a run's gateways."""

    continued: frozenset[str]
    """Gateways whose audit was continued. Their earlier verdicts are right."""


@contextmanager
def gold_audit_of(silver: Tables, gold: Tables, plan: Plan | None) -> Iterator[GoldAudit]:
    """Audit the gateways of a run, and yield the result (see `audit_of`).

    Args:
        silver: the ingested tables, restricted to the gateways of the run.
        gold: the gold tables, restricted in the same way.
        plan: which audits are continued. None: all events are audited.
    """
    while plan is not None and plan.ready:
        carried = as_values(_of(plan.ready, gold.read(CARRIED)))
        later = _of(plan.ready, silver.read("events").where(F.col("batch") >= plan.since))
        events = later.unionByName(carried)
        if plan.others:
            events = events.unionByName(_of(plan.others, silver.read("events")))
        with audit_of(silver, events=events) as audit:
            findings = as_values(not_judged_before(audit.findings, carried))
            doubtful = findings.select("gateway").unionByName(not_continued(later, carried))
            found = plan.ready & {row["gateway"] for row in doubtful.distinct().collect()}
            if not found:
                yield _result(replace(audit, findings=findings), plan.ready)
                return
        plan = plan._replace(ready=plan.ready - found, others=plan.others | found)
    with audit_of(silver) as audit:
        yield _result(audit, frozenset())


def _of(gateways: frozenset[str], events: DataFrame) -> DataFrame:
    return events.where(F.col("gateway").isin(*sorted(gateways))).select(*AUDITED)


def _result(audit: Audit, continued: frozenset[str]) -> GoldAudit:
    return GoldAudit(audit.events, audit.findings, audit.gaps, audit.holes, continued)


def plan_of(silver: Tables, gold: Tables, since: int) -> Plan | None:
    """Return which audits can be continued from batch `since`. None: too many gateways to name.

    An audit can be continued if all segments were ingested, the new ones are after the earlier
    ones, no key is new, and the carried events are those of the last batch before.
    """
    is_new = F.col("batch") >= since
    count = F.when(F.col("state") == "ingested", F.col("lines") - F.col("bad_lines"))
    segments = silver.read("segments").where("gateway IS NOT NULL").groupBy("gateway").agg(
        F.bool_and(F.col("state") == "ingested").alias("is_whole"),
        F.max(F.when(~is_new, F.col("segment"))).alias("before"),
        F.min(F.when(is_new, F.col("segment"))).alias("after"),
        F.max(F.when(~is_new, F.col("batch"))).alias("last"),
        F.coalesce(F.sum(count), F.lit(0)).alias("every"),
        F.coalesce(F.sum(F.when(is_new, count)), F.lit(0)).alias("new"),
    )  # fmt: skip
    carried = gold.read(CARRIED).groupBy("gateway").agg(F.max("batch").alias("carried"))
    rows = segments.join(carried, "gateway", "left")
    ready = F.expr("is_whole AND before < after AND last <= carried") & (F.col("carried") < since)
    rows = rows.select("gateway", "every", "new", F.coalesce(ready, F.lit(False)).alias("is_ready"))
    if silver.has("gateway_keys"):
        keys = silver.read("gateway_keys").where(is_new).select("gateway").distinct()
        rows = rows.join(keys.withColumn("has_key", F.lit(True)), "gateway", "left")
        rows = rows.withColumn("is_ready", F.col("is_ready") & F.col("has_key").isNull())
    found = rows.limit(GATEWAYS_PER_RUN_MAX + 1).collect()
    if len(found) > GATEWAYS_PER_RUN_MAX:
        return None
    ready_ones = frozenset(row["gateway"] for row in found if row["is_ready"])
    others = frozenset(row["gateway"] for row in found if not row["is_ready"])
    events = sum(row["new"] if row["is_ready"] else row["every"] for row in found)
    return Plan(since, ready_ones, others, events)


def update_carried(gold: Tables, audit: GoldAudit, through: int) -> None:
    """Replace the carried events of the run's gateways. `through` is the last audited batch.

    Only gateways without findings get rows. Repeating the call has no further effect.
    """
    found = F.broadcast(audit.findings.select("gateway").distinct())
    rows = carried_of(audit.events.join(found, "gateway", "left_anti"))
    gold.replace(CARRIED, rows.withColumn("batch", F.lit(through).cast("long")))
