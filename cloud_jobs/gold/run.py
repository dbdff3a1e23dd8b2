"""One run of `oncegate gold`: it processes all batches that were ingested since the last run.

A run first commits the range of its batches. If it is interrupted, the next run finishes it with
the same batches, and then processes newer ones. Some tables are updated by a merge with the rows of
the new batches. Each merge is committed with the number of the run's last batch, so that a repeated
merge has no effect. The other tables are computed again for the days that changed. If a batch
withdrew events of earlier batches, all tables are emptied and computed again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.audit.gaps import gaps_of
from cloud_jobs.audit.run import Audit, audit_of
from cloud_jobs.errors import IngestError
from cloud_jobs.gold.daily import Changes, replace, update_daily, update_health, update_sensors
from cloud_jobs.gold.drops import discard
from cloud_jobs.gold.sensor_gaps import sensor_gaps_of
from cloud_jobs.gold.times import BOOT, merge_corrections, timed
from cloud_jobs.gold.totals import ROWS, merge_totals, remake
from cloud_jobs.gold.verdicts import daily_verdicts, merge_verdicts
from cloud_jobs.ingest.withdrawal import WITHDRAWN
from cloud_jobs.limits import EVENTS_SMALL_MAX
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.few_rows import as_values, held
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GAPS, GOLD_TABLES

VERSION: Final = 4
"""Version of the gold tables. Tables of an earlier version are emptied and computed again."""
APPLICATION: Final = f"oncegate-gold/{VERSION}"
"""Prefix of the transactions of all writes. It contains the version, because tables that are
computed again start at batch 1."""
Progress = Callable[[str], None]
_RUNS: Final = "gold_runs"
PHASES: Final = {
    "clock_corrections": "clock corrections", "boots": "starts of gateways", "sessions": "sessions",
    "qos2_messages": "messages at QoS 2", "qos2_deliveries": "deliveries", "days": "days",
    "sensors": "readings by quarter hour and day", "gaps": "gaps", "audit": "audit"}  # fmt: skip
"""Phases of a run in their order, with the text shown as progress."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A run of `oncegate gold` and its batches, from `first` to `through`.

    There are no batches if `through` is less than `first`.
    """

    number: int
    first: int
    through: int
    audited_through: int
    """The last audited batch when the run begins."""
    is_resumed: bool = False
    """True if an earlier run began these batches and was interrupted."""

    @property
    def batches(self) -> int:
        """The number of batches in the run."""
        return max(self.through - self.first + 1, 0)


def update_gold(
    spark: SparkSession,
    root: str,
    progress: Progress,
    *,
    is_audited: bool = True,
    after_step: Progress = lambda _: None,
) -> dict[str, Any]:
    """Update the gold tables up to the last ingested batch. Return the result as JSON values.

    Args:
        spark: the Spark session.
        root: directory or URL of the tables.
        progress: called with a line of text at each phase.
        is_audited: True to also audit the ingested tables.
        after_step: called with the name of each step after its commit.

    Raises IngestError if there are no ingested tables.
    """
    silver, gold = Tables(spark, root), gold_tables(spark, root)
    if not silver.has("batches"):
        raise IngestError(f"there are no tables in {root}: run `oncegate ingest` first")
    making.create(gold, making.remake)
    found = silver.query("SELECT coalesce(sum(events_new), 0) AS events FROM {batches}")
    with small_effort(spark, is_small=found[0]["events"] <= EVENTS_SMALL_MAX):
        return _update(silver, gold, progress, after_step, is_audited=is_audited)


def _update(
    silver: Tables, gold: Tables, progress: Progress, after_step: Progress, *, is_audited: bool
) -> dict[str, Any]:
    run = _begin_run(silver, gold)
    batches = run.batches
    if run.is_resumed:
        # Its batches are fixed. A separate run processes the batches ingested since then.
        _execute(silver, gold, run, progress, after_step, is_audited=False)
        run = _begin_run(silver, gold)
        batches += run.batches
    is_audited = is_audited and run.audited_through < run.through
    audited_through = _execute(silver, gold, run, progress, after_step, is_audited=is_audited)
    return {"tables_root": silver.root, "batches": batches,
            "through_batch": run.through, "is_audited": audited_through >= run.through,
            "audited_through": audited_through}  # fmt: skip


def _execute(
    silver: Tables,
    gold: Tables,
    run: Run,
    progress: Progress,
    after_step: Progress,
    *,
    is_audited: bool,
) -> int:
    """Execute a run, and record that it is done.

    If the argument `is_audited` is True, also audit the ingested tables. Return the number of the
    last audited batch, from this run or an earlier one.
    """
    after_step("begin")
    with ExitStack() as stack:
        audit = stack.enter_context(_audit_meanwhile(silver)) if is_audited else None
        if run.batches:
            _update_tables(silver, gold, run, progress, after_step)
            progress(_phase("gaps"))
            replace(gold, "gaps", gaps_by_day(silver, gold.read("clock_corrections")))
            after_step("gaps")
        if audit is not None:
            progress(_phase("audit"))
            _write_verdicts(silver, gold, run, audit.result())
            after_step("audit")
    audited_through = run.through if is_audited else run.audited_through
    if run.batches or is_audited:
        _record_run(gold, run, is_done=True, audited_through=audited_through)
    return audited_through


def _phase(name: str) -> str:
    return f"step {[*PHASES].index(name) + 1} of {len(PHASES)}: {PHASES[name]}"


def gold_tables(spark: SparkSession, root: str) -> Tables:
    """Return the gold tables below a directory or URL."""
    return Tables(spark, root, GOLD_TABLES, APPLICATION, marker=_RUNS, version=VERSION)


def _begin_run(silver: Tables, gold: Tables) -> Run:
    """Return the interrupted run if there is one. Otherwise start the next run.

    A new run commits the range of its batches to the table `gold_runs`. If events of earlier
    batches were withdrawn, the gold tables are emptied, and the new run begins with batch 1.
    """
    found = gold.query(
        "SELECT max(struct(run, is_done, from_batch, through_batch)) AS last, "
        "max(audited_through) FILTER (WHERE is_done) AS audited FROM {gold_runs}"
    )[0]
    last, audited_through = found["last"], found["audited"] or 0
    if last is not None and not last["is_done"]:
        first, through = last["from_batch"], last["through_batch"]
        return Run(last["run"], first, through, audited_through, is_resumed=True)
    through = silver.query("SELECT max(batch) AS batch FROM {batches}")[0]["batch"] or 0
    number, first = (last["run"] + 1, last["through_batch"] + 1) if last is not None else (1, 1)
    if first > 1 and _are_events_withdrawn(silver, first, through):
        # The rows contain counts of events, and removed events cannot be subtracted.
        remade = {name: schema for name, schema in GOLD_TABLES.items() if name != _RUNS}
        making.remake(dataclasses.replace(gold, schemas=remade))
        first, audited_through = 1, 0
    run = Run(number, first, through, audited_through)
    if run.batches:
        _record_run(gold, run, is_done=False, audited_through=None)
    return run


def _are_events_withdrawn(silver: Tables, first: int, through: int) -> bool:
    """Return True if batches `first` to `through` withdrew segments of earlier batches."""
    found = silver.query(
        "SELECT name FROM {segments} WHERE detail = :detail AND batch >= :first "
        "AND batch <= :through LIMIT 1",
        detail=WITHDRAWN, first=first, through=through,
    )  # fmt: skip
    return bool(found)


def _record_run(gold: Tables, run: Run, *, is_done: bool, audited_through: int | None) -> None:
    row = gold.spark.range(1).select(
        *(F.lit(v).cast("long").alias(n) for n, v in
          (("run", run.number), ("from_batch", run.first), ("through_batch", run.through))),
        F.lit(is_done).alias("is_done"),
        F.current_timestamp().alias("at"),
        F.lit(audited_through).cast("long").alias("audited_through"),
    )  # fmt: skip
    gold.append(_RUNS, row, batch=2 * run.number + is_done)


def _update_tables(
    silver: Tables, gold: Tables, run: Run, progress: Progress, after_step: Progress
) -> None:
    new = F.col("batch").between(run.first, run.through)
    written = silver.read("events").where(F.col("batch") <= run.through)
    progress(_phase("clock_corrections"))
    merge_corrections(silver, gold, run.first, run.through)
    after_step("clock_corrections")
    corrections = as_values(gold.read("clock_corrections"))
    # Each table is computed from these events.
    with held(timed(written.where(new), corrections)) as fresh:
        changed = as_values(corrections.where(new))
        changes = Changes(run.first, run.through, fresh, changed, written, corrections)
        _update_totals(gold, changes, progress, after_step)
        discard(gold, run.first, run.through)
        after_step("discarded")
        progress(_phase("days"))
        update_daily(gold, changes)
        after_step("qos2_daily")
        update_health(gold, silver.read("segments"), changes)
        after_step("gateway_health")
        progress(_phase("sensors"))
        update_sensors(silver, gold, changes)
        after_step("sensors")


def _update_totals(
    gold: Tables, changes: Changes, progress: Progress, after_step: Progress
) -> None:
    # Rows that an earlier run computed from these events now have other times.
    earlier = changes.written.where(F.col("batch") < changes.first)
    moved = earlier.join(F.broadcast(changes.changed), [*BOOT, "segment_name"], "left_semi")
    has_moved = not changes.changed.isEmpty() and not moved.isEmpty()
    for name, rows_of in ROWS.items():
        progress(_phase(name))
        merge_totals(gold, name, rows_of(changes.fresh), changes.through)
        if has_moved:
            remake(gold, name, timed(changes.written, changes.corrections), moved, changes.through)
        after_step(name)


@contextmanager
def _audit_meanwhile(silver: Tables) -> Iterator[Future[Audit]]:
    """Audit the ingested tables in another thread. Yield the future of the result.

    The audit only reads ingested tables, so the gold tables can be updated at the same time.
    """
    with ExitStack() as kept, side_by_side() as submit:
        yield submit(kept.enter_context, audit_of(silver))


def _write_verdicts(silver: Tables, gold: Tables, run: Run, audit: Audit) -> None:
    events = timed(silver.read("events"), gold.read("clock_corrections"))
    replace(gold, "audit_daily", daily_verdicts(silver, events, audit.findings, run.through))
    merge_verdicts(gold, audit)


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
