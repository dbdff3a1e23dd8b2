"""The steps of a run of `oncegate gold`: first the tables that others depend on, then the others.

The audit runs at the same time, because it only reads ingested tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.gaps import gaps_of
from cloud_jobs.audit.run import Audit, audit_of
from cloud_jobs.gold.daily import Changes, update_daily, update_health, update_sensors
from cloud_jobs.gold.drops import discard
from cloud_jobs.gold.sensor_gaps import sensor_gaps_of
from cloud_jobs.gold.times import BOOT, merge_corrections, timed
from cloud_jobs.gold.totals import ROWS, merge_totals, remake
from cloud_jobs.gold.verdicts import (
    daily_verdicts,
    merge_delivery_verdicts,
    merge_message_verdicts,
)
from cloud_jobs.spark.few_rows import as_values, held
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GAPS

Progress = Callable[[str], None]
Steps = dict[str, Callable[[], None]]
"""Functions that update one or two tables each, by the name of the step."""
PHASES: Final = {
    "clock_corrections": "clock corrections", "boots": "starts of gateways", "sessions": "sessions",
    "qos2_messages": "messages at QoS 2", "qos2_deliveries": "deliveries", "qos2_daily": "days",
    "sensors": "readings by quarter hour and day", "gaps": "gaps", "audit": "audit"}  # fmt: skip
"""Steps that are shown as progress, in the order in which they begin, with their text."""


class Report(NamedTuple):
    """Functions that a run calls to report its progress."""

    progress: Progress
    """Gets the text of each step that is shown, when the step begins."""
    after_step: Progress
    """Gets the name of each step after its commits."""

    def begin(self, step: str) -> None:
        """Report that a step begins. Some steps are not shown."""
        if step in PHASES:
            number = [*PHASES].index(step) + 1
            self.progress(f"step {number} of {len(PHASES)}: {PHASES[step]}")


def update_tables(
    silver: Tables, gold: Tables, batches: tuple[int, int], report: Report, *, is_audited: bool
) -> None:
    """Update the gold tables with the first to the last batch of a run, and audit if wanted.

    There are no batches if the last number is less than the first. The audit then takes the
    ingested tables as they are.
    """
    with ExitStack() as stack:
        audit = stack.enter_context(_audit_meanwhile(silver)) if is_audited else None
        steps: Steps = {}
        if batches[0] <= batches[1]:
            changes = _merge_changes(silver, gold, batches, report, stack)
            steps = {
                "qos2_daily": partial(update_daily, gold, changes),
                "gateway_health": partial(update_health, gold, silver.read("segments"), changes),
                "sensors": partial(update_sensors, silver, gold, changes),
                "gaps": partial(_update_gaps, silver, gold, changes),
            }
        if audit is not None:
            # These come last, because they wait for the audit.
            steps |= _audit_steps(silver, gold, batches[1], audit)
        # Each of these steps writes other tables, and none changes what another reads.
        with side_by_side() as submit:
            for name, step in steps.items():
                submit(_complete, name, step, report)


def _update_gaps(silver: Tables, gold: Tables, changes: Changes) -> None:
    found = as_values(gaps_by_day(silver, changes.corrections))
    if not (found.isEmpty() and gold.read("gaps").isEmpty()):
        gold.replace("gaps", found)


def _complete(name: str, step: Callable[[], None], report: Report) -> None:
    report.begin(name)
    step()
    report.after_step(name)


def _merge_changes(
    silver: Tables, gold: Tables, batches: tuple[int, int], report: Report, stack: ExitStack
) -> Changes:
    """Update the tables that others depend on. Return the changes for the other tables.

    The returned rows are held until `stack` is closed.
    """
    first, through = batches
    new = F.col("batch").between(first, through)
    written = silver.read("events").where(F.col("batch") <= through)
    report.begin("clock_corrections")
    merge_corrections(silver, gold, first, through)
    report.after_step("clock_corrections")
    corrections = as_values(gold.read("clock_corrections"))
    # Each table is computed from these events.
    fresh = stack.enter_context(held(timed(written.where(new), corrections)))
    changed = as_values(corrections.where(new))
    changes = Changes(first, through, fresh, changed, written, corrections)
    _update_totals(gold, changes, report)
    discard(gold, first, through)
    report.after_step("discarded")
    return changes


def _update_totals(gold: Tables, changes: Changes, report: Report) -> None:
    # Rows that an earlier run computed from these events now have other times.
    earlier = changes.written.where(F.col("batch") < changes.first)
    moved = earlier.join(F.broadcast(changes.changed), [*BOOT, "segment_name"], "left_semi")
    has_moved = not changes.changed.isEmpty() and not moved.isEmpty()
    for name, rows_of in ROWS.items():
        report.begin(name)
        merge_totals(gold, name, rows_of(changes.fresh), changes.through)
        if has_moved:
            remake(gold, name, timed(changes.written, changes.corrections), moved, changes.through)
        report.after_step(name)


@contextmanager
def _audit_meanwhile(silver: Tables) -> Iterator[Future[Audit]]:
    """Audit the ingested tables in another thread. Yield the future of the result.

    The audit only reads ingested tables, so the gold tables can be updated at the same time.
    """
    with ExitStack() as kept, side_by_side() as submit:
        yield submit(kept.enter_context, audit_of(silver))


def _audit_steps(silver: Tables, gold: Tables, through: int, audit: Future[Audit]) -> Steps:
    """Return the steps that write the result of the audit. They wait for the audit to end.

    `through` is the number of the last batch.
    """

    def days() -> None:
        findings = audit.result().findings
        events = timed(silver.read("events"), gold.read("clock_corrections"))
        gold.replace("audit_daily", daily_verdicts(silver, events, findings, through))

    return {
        "audit": days,
        "message_verdicts": lambda: merge_message_verdicts(gold, audit.result()),
        "delivery_verdicts": lambda: merge_delivery_verdicts(gold, audit.result()),
    }


def gaps_by_day(silver: Tables, corrections: DataFrame | None = None) -> DataFrame:
    """Return all current gaps as rows of the table `gaps`.

    A gap in the log belongs to the earliest day in the segment after it. If `corrections` are
    given, the times of this segment are corrected first.
    """
    events = silver.read("events")
    if corrections is not None:
        events = timed(events, corrections)
    truncations = events.where("event = 'log_truncated'")
    found = gaps_of(silver.read("segments"), truncations)
    # Days are needed for only a few segments.
    behind = F.broadcast(found.select("gateway", "segment"))
    days = events.join(behind, ["gateway", "segment"], "left_semi")
    days = days.groupBy("gateway", "segment").agg(F.min("day").alias("day"))
    rows = found.withColumns(
        {
            "missing": F.col("to_sequence") - F.col("from_sequence") + 1,
            "device": F.lit(None).cast("string"),
            "device_boot": F.lit(None).cast("long"),
        }
    )
    of_the_log = rows.join(days, ["gateway", "segment"], "left").select(*GAPS.fieldNames())
    return of_the_log.unionByName(sensor_gaps_of(silver.read("sensor_readings")))
