"""One run of `oncegate gold`: it processes all batches that were ingested since the last run.

A run first commits the range of its batches. If it is interrupted, the next run finishes it with
the same batches, and then processes newer ones. Some tables are updated by a merge with the rows of
the new batches. A merge does not change rows that already have a batch of the run, so that a
repeated merge has no effect. The other tables are computed again for the days that changed. The run
reads and updates only the gateways that have something new. If a batch withdrew events of earlier
batches, all tables are emptied and computed again.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.errors import IngestError
from cloud_jobs.gold.continued_audit import plan_of
from cloud_jobs.gold.gateways import Chosen, Gateway, gateways_in, with_news
from cloud_jobs.gold.held_tables import held_tables
from cloud_jobs.gold.steps import Progress, Report, update_tables
from cloud_jobs.limits import CARRIED_FROM_EVENTS, EVENTS_SMALL_MAX, VALUES_MAX
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GOLD_TABLES

VERSION: Final = 4
"""Version of the gold tables. Tables of an earlier version are emptied and computed again."""
APPLICATION: Final = f"oncegate-gold/{VERSION}"
"""Prefix of the transactions of appends. It contains the version, because tables that are computed
again start at batch 1."""
_RUNS: Final = "gold_runs"
_LARGE: Final = frozenset(
    {"events", "sensor_readings", "qos2_messages", "qos2_deliveries", "sensor_quarters"}
)
"""Tables that grow with the number of events or readings."""
_UNREAD: Final = frozenset(
    {"payload", "payload_base64", "payload_sha256", "extra", "identity", "data_value"}
)
"""Columns of ingested tables that no gold table needs. Payloads are most of the bytes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A run of `oncegate gold` and its batches, from `first` to `through`.

    There are no batches if `through` is less than `first`.
    """

    number: int
    first: int
    through: int
    audited_through: int
    """The last audited batch when the run begins. It is less than `first`."""
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
    with small_effort(spark):
        making.create(gold, making.remake)
    return _update(silver, gold, progress, after_step, is_audited=is_audited)


def _update(
    silver: Tables, gold: Tables, progress: Progress, after_step: Progress, *, is_audited: bool
) -> dict[str, Any]:
    run, gateways = _begin_run(silver, gold)
    batches = run.batches
    if run.is_resumed:
        # Its batches are fixed. A separate run processes the batches ingested since then.
        chosen = with_news(gateways, run.first)
        _execute(silver, gold, run, chosen, Report(progress, after_step), is_audited=False)
        run, gateways = _begin_run(silver, gold)
        batches += run.batches
    is_audited = is_audited and run.audited_through < run.through
    # The audited batches end before the run's first batch.
    chosen = with_news(gateways, run.audited_through + 1 if is_audited else run.first)
    audited_through = _execute(
        silver, gold, run, chosen, Report(progress, after_step), is_audited=is_audited
    )
    return result_of(
        silver.root, batches=batches, through=run.through, audited_through=audited_through
    )


def result_of(root: str, *, batches: int, through: int, audited_through: int) -> dict[str, Any]:
    """Return the result of a run as JSON values. docs/commands.md explains the keys.

    Args:
        root: directory or URL of the tables.
        batches: number of batches that the run processed.
        through: the last batch in the gold tables.
        audited_through: the last audited batch.
    """
    return {"tables_root": root, "batches": batches, "through_batch": through,
            "is_audited": audited_through >= through,
            "audited_through": audited_through}  # fmt: skip


def _execute(
    silver: Tables, gold: Tables, run: Run, chosen: Chosen, report: Report, *, is_audited: bool
) -> int:
    """Execute a run, and record that it is done. A run with nothing to do is not recorded.

    If the argument `is_audited` is True, also audit the ingested tables. Return the number of the
    last audited batch, from this run or an earlier one.
    """
    report.after_step("begin")
    if not run.batches and not is_audited:
        return run.audited_through
    large = _LARGE if chosen.events > VALUES_MAX else frozenset()
    own_silver = held_tables(silver, large, _UNREAD, chosen.names)
    own_gold = held_tables(gold, large, gateways=chosen.names)
    plan = None
    # The audits of small logs are not continued.
    if is_audited and chosen.events >= CARRIED_FROM_EVENTS:
        with small_effort(gold.spark):
            plan = plan_of(own_silver, own_gold, run.audited_through + 1)
    events = chosen.events if plan is None else plan.events
    with small_effort(gold.spark, is_small=events <= EVENTS_SMALL_MAX):
        if chosen.names is None or chosen.names:
            with side_by_side() as submit:
                # Each run needs these tables first. They are held from now on.
                submit(own_silver.read, "segments")
                submit(own_silver.read, "events")
            batches = (run.first, run.through)
            update_tables(own_silver, own_gold, batches, report, is_audited=is_audited, plan=plan)
        audited_through = run.through if is_audited else run.audited_through
        _record_run(gold, run, is_done=True, audited_through=audited_through)
    return audited_through


def gold_tables(spark: SparkSession, root: str) -> Tables:
    """Return the gold tables below a directory or URL."""
    return Tables(spark, root, GOLD_TABLES, APPLICATION, marker=_RUNS, version=VERSION)


def _begin_run(silver: Tables, gold: Tables) -> tuple[Run, list[Gateway]]:
    """Return the interrupted run if there is one. Otherwise start the next run.

    A new run commits the range of its batches to the table `gold_runs`. If events of earlier
    batches were withdrawn, the gold tables are emptied, and the new run begins with batch 1. Also
    return all gateways in the ingested tables.
    """
    with small_effort(gold.spark):
        with side_by_side() as submit:
            latest = submit(_latest_run, gold)
            ingested = submit(_first, silver.read("batches"), F.coalesce(F.max("batch"), F.lit(0)))
            has_keys = silver.has("gateway_keys")
            found = submit(partial(gateways_in, silver, has_keys=has_keys))
        (last, audited), (through,), gateways = latest.result(), ingested.result(), found.result()
        if last is not None and not last["is_done"]:
            first, through = last["from_batch"], last["through_batch"]
            run = Run(last["run"], first, through, min(audited, first - 1), is_resumed=True)
            return run, gateways
        number, first = (last["run"] + 1, last["through_batch"] + 1) if last is not None else (1, 1)
        if first > 1 and any(first <= one.withdrawn <= through for one in gateways):
            # The rows contain counts of events, and removed events cannot be subtracted.
            remade = {name: schema for name, schema in GOLD_TABLES.items() if name != _RUNS}
            making.remake(dataclasses.replace(gold, schemas=remade))
            first = 1
        run = Run(number, first, through, min(audited, first - 1))
        if run.batches:
            _record_run(gold, run, is_done=False, audited_through=None)
        return run, gateways


def _latest_run(gold: Tables) -> Row:
    """Return the last row of the last run, and the batch up to which the last done run audited.

    An earlier run may have audited more. Tables that are computed again have no verdicts yet.
    """
    latest = F.max(F.struct("run", "is_done", "from_batch", "through_batch"))
    audited = F.max_by("audited_through", F.when(F.col("is_done"), F.col("run")))
    return _first(gold.read(_RUNS), latest, F.coalesce(audited, F.lit(0)))


def _first(rows: DataFrame, *totals: Column) -> Row:
    """Return aggregates of all rows."""
    found = rows.agg(*totals).first()
    assert found is not None
    return found


def _record_run(gold: Tables, run: Run, *, is_done: bool, audited_through: int | None) -> None:
    row = gold.spark.range(1).select(
        *(F.lit(v).cast("long").alias(n) for n, v in
          (("run", run.number), ("from_batch", run.first), ("through_batch", run.through))),
        F.lit(is_done).alias("is_done"),
        F.current_timestamp().alias("at"),
        F.lit(audited_through).cast("long").alias("audited_through"),
    )  # fmt: skip
    gold.append(_RUNS, row, batch=2 * run.number + is_done)
