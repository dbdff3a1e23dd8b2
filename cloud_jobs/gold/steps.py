"""The steps of a run of `oncegate gold`: first the tables that others depend on, then the others.

The audit runs at the same time, because it reads no table that they write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.gaps import gaps_of
from cloud_jobs.gold.continued_audit import GoldAudit, Plan, gold_audit_of, update_carried
from cloud_jobs.gold.daily import Changes, update_daily, update_health, update_sensors
from cloud_jobs.gold.drops import discard
from cloud_jobs.gold.sensor_gaps import sensor_gaps_of
from cloud_jobs.gold.times import BOOT, TIMED, merge_corrections, timed
from cloud_jobs.gold.totals import ROWS, merge_totals, remake
from cloud_jobs.gold.verdicts import daily_verdicts, delivery_verdicts, message_verdicts
from cloud_jobs.limits import QUERIES_AT_A_TIME_MAX
from cloud_jobs.spark.few_rows import as_values, held
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GAPS

Progress = Callable[[str], None]
Steps = Mapping[str, Callable[[], None]]
"""Functions that update one or two tables each, by the name of the step. They run in this order."""
AUDIT: Final = "audit"
PHASES: Final = {
    AUDIT: "audit", "clock_corrections": "clock corrections", "sessions": "sessions",
    "boots": "starts of gateways", "gateway_health": "health of gateways",
    "sensors": "readings by quarter hour and day", "qos2_deliveries": "deliveries",
    "qos2_messages": "messages at QoS 2", "qos2_daily": "days", "gaps": "gaps"}  # fmt: skip
"""Steps that are shown as progress, with their text."""
_VERDICTS: Final = {"qos2_messages": message_verdicts, "qos2_deliveries": delivery_verdicts}


class Report(NamedTuple):
    """Functions that a run calls to report its progress."""

    progress: Progress
    """Gets the text of each step that is shown, when the step begins."""
    after_step: Progress
    """Gets the name of each step after its commits."""

    def begin(self, step: str) -> None:
        """Report that a step begins. Some steps are not shown."""
        if step in PHASES:
            self.progress(PHASES[step])

    def numbered(self, steps: int) -> Report:
        """Return functions that also number the texts, of which there are `steps`."""
        numbers = count(1)
        return self._replace(
            progress=lambda text: self.progress(f"step {next(numbers)} of {steps}: {text}")
        )


def update_tables(
    silver: Tables,
    gold: Tables,
    batches: tuple[int, int],
    report: Report,
    *,
    is_audited: bool,
    plan: Plan | None = None,
) -> None:
    """Update the gold tables with the first to the last batch of a run, and audit if wanted.

    There are no batches if the last number is less than the first. The run then only writes the
    verdicts of the audit. If `plan` is given, the audit continues earlier ones (`gold_audit_of`),
    and the events that the next audit needs are written.
    """
    report = report.numbered(len(PHASES) if is_audited else len(PHASES) - 1)
    with ExitStack() as stack:
        audit: Future[GoldAudit] | None = None
        if is_audited:
            audit = stack.enter_context(_audit_meanwhile(silver, gold, plan, report))
        changes = _changes(silver, gold, batches, report, stack)
        moved = _moved_events(changes)
        _complete(
            _first_steps(silver, gold, changes, moved, audit),
            report,
            # The audit is one of the queries that run at a time.
            QUERIES_AT_A_TIME_MAX - 1 if audit is not None else QUERIES_AT_A_TIME_MAX,
        )
        _complete(_last_steps(silver, gold, changes, audit, plan), report)


def _first_steps(
    silver: Tables,
    gold: Tables,
    changes: Changes,
    moved: DataFrame | None,
    audit: Future[GoldAudit] | None,
) -> list[Steps]:
    """Return the steps that need no results of other chains of steps."""

    def totals(name: str) -> Callable[[], None]:
        return lambda: _update_totals(gold, name, changes, moved, audit)

    segments = silver.read("segments")
    return [
        {
            "sessions": totals("sessions"),
            "qos2_deliveries": totals("qos2_deliveries"),
            "discarded": partial(discard, gold, changes.first, changes.through),
        },
        {
            "boots": totals("boots"),
            "gateway_health": partial(update_health, gold, segments, changes),
        },
        {"sensors": partial(update_sensors, silver, gold, changes)},
        {"qos2_messages": totals("qos2_messages")},
    ]


def _last_steps(
    silver: Tables,
    gold: Tables,
    changes: Changes,
    audit: Future[GoldAudit] | None,
    plan: Plan | None,
) -> Iterator[Steps]:
    """Yield the steps that need the results of other steps or of the audit."""
    yield {"qos2_daily": partial(update_daily, gold, changes)}
    yield {"gaps": partial(_update_gaps, silver, gold, changes, audit)}
    if audit is not None:
        yield {"audit_daily": partial(_update_audit_daily, silver, gold, changes, audit.result())}
        if plan is not None:
            yield {"carried_events": partial(update_carried, gold, audit.result(), changes.through)}


def _complete(
    chains: Iterable[Steps], report: Report, threads: int = QUERIES_AT_A_TIME_MAX
) -> None:
    """Execute chains of steps concurrently, and the steps of each chain one after the other.

    The steps of two chains write different tables, and none changes what another chain reads. If a
    step fails, the other chains are still completed.
    """

    def complete(steps: Steps) -> None:
        for name, step in steps.items():
            report.begin(name)
            step()
            report.after_step(name)

    with side_by_side(threads) as submit:
        for steps in chains:
            submit(complete, steps)


@contextmanager
def _audit_meanwhile(
    silver: Tables, gold: Tables, plan: Plan | None, report: Report
) -> Iterator[Future[GoldAudit]]:
    """Audit the ingested tables in another thread. Yield the future of the result.

    The audit reads ingested tables, and the table `carried_events`, which the last step writes. So
    the other gold tables can be updated at the same time.
    """
    report.begin(AUDIT)
    with ExitStack() as kept, side_by_side() as submit:
        yield submit(kept.enter_context, gold_audit_of(silver, gold, plan))


def _changes(
    silver: Tables, gold: Tables, batches: tuple[int, int], report: Report, stack: ExitStack
) -> Changes:
    """Update the clock corrections. Return the changes for the other tables.

    The returned rows are held until `stack` is closed.
    """
    first, through = batches
    new = F.col("batch").between(first, through)
    written = silver.read("events").where(F.col("batch") <= through)
    report.begin("clock_corrections")
    merge_corrections(silver, gold, first, through)
    report.after_step("clock_corrections")
    corrections = gold.read("clock_corrections")
    # Each table is computed from these events.
    fresh = stack.enter_context(held(timed(written.where(new), corrections)))
    changed = as_values(corrections.where(new))
    return Changes(first, through, fresh, changed, written, corrections)


def _moved_events(changes: Changes) -> DataFrame | None:
    """Return events of earlier runs whose times have changed, or None if there are none."""
    if changes.changed.isEmpty():
        return None
    earlier = changes.written.where(F.col("batch") < changes.first)
    moved = earlier.join(F.broadcast(changes.changed), [*BOOT, "segment_name"], "left_semi")
    return None if moved.isEmpty() else moved


def _update_totals(
    gold: Tables,
    name: str,
    changes: Changes,
    moved: DataFrame | None,
    audit: Future[GoldAudit] | None,
) -> None:
    rows = ROWS[name](changes.fresh)
    verdicts = None
    if audit is not None and name in _VERDICTS:
        rows = gold.hold(name, rows)
        result = audit.result()
        old = gold.read(name)
        if result.continued:  # verdicts of their earlier messages do not change
            old = old.where(~F.col("gateway").isin(*result.continued))
        verdicts = _VERDICTS[name](old, rows, result)
    merge_totals(gold, name, rows, changes.first, verdicts)
    if moved is not None:
        events = timed(changes.written, changes.corrections)
        remake(gold, name, events, moved, (changes.first, changes.through))


def _update_gaps(
    silver: Tables, gold: Tables, changes: Changes, audit: Future[GoldAudit] | None
) -> None:
    if audit is None:
        holes = gaps_of(silver.read("segments"), silver.read("events"))
    else:
        holes = audit.result().holes
    found = as_values(gaps_by_day(silver, holes, changes.corrections))
    if not (found.isEmpty() and gold.read("gaps").isEmpty()):
        gold.replace("gaps", found)


def _update_audit_daily(silver: Tables, gold: Tables, changes: Changes, audit: GoldAudit) -> None:
    events = timed(silver.read("events").select(*TIMED), changes.corrections)
    rows = daily_verdicts(events, silver.read("segments"), audit.findings)
    gold.replace("audit_daily", rows)


def gaps_by_day(
    silver: Tables, holes: DataFrame, corrections: DataFrame | None = None
) -> DataFrame:
    """Return all current gaps as rows of the table `gaps`.

    A gap in the log belongs to the earliest day in the segment after it. If `corrections` are
    given, the times of this segment are corrected first. `holes` is the result of `gaps_of`.
    """
    events = silver.read("events").select(*TIMED)
    if corrections is not None:
        events = timed(events, corrections)
    # Days are needed for only a few segments.
    behind = F.broadcast(holes.select("gateway", "segment"))
    days = events.join(behind, ["gateway", "segment"], "left_semi")
    days = days.groupBy("gateway", "segment").agg(F.min("day").alias("day"))
    rows = holes.withColumns(
        {
            "missing": F.col("to_sequence") - F.col("from_sequence") + 1,
            "device": F.lit(None).cast("string"),
            "device_boot": F.lit(None).cast("long"),
        }
    )
    of_the_log = rows.join(days, ["gateway", "segment"], "left").select(*GAPS.fieldNames())
    return of_the_log.unionByName(sensor_gaps_of(silver.read("sensor_readings")))
