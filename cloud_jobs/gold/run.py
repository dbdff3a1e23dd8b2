"""One run of `oncegate gold`: all batches that were ingested since the last one.

A run first commits which batches it takes. One that died is finished first, over the same batches;
merges carry the number of the run's last batch as their transaction, so what was committed is not
added twice. All other tables are functions of those, made again for the days that batches touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.audit.gaps import GAP_COLUMNS, gaps_of
from cloud_jobs.audit.run import _COLUMNS as AUDITED
from cloud_jobs.audit.run import findings_of, judged, lacks_of
from cloud_jobs.errors import IngestError
from cloud_jobs.gold.days import ON, gateway_health, qos2_daily
from cloud_jobs.gold.totals import boots_of, deliveries_of, merge_totals, messages_of
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import AUDIT_DAILY, GAPS, GOLD_TABLES
from cloud_jobs.tables.merge import Merge

APPLICATION: Final = "oncegate-gold"
Progress = Callable[[str], None]


def gold(
    spark: SparkSession, root: str, progress: Progress, *, is_audited: bool = True
) -> dict[str, Any]:
    """Bring the gold tables to the last ingested batch; the result as JSON values."""
    silver, made = Tables(spark, root), Tables(spark, root, GOLD_TABLES, APPLICATION)
    if not silver.has("batches"):
        raise IngestError(f"there are no tables in {root}: run `oncegate ingest` first")
    made.create()
    number, first, through = _begun(silver, made)
    if through >= first:
        _take(silver, made, first, through, progress)
        progress("gaps")
        replace(made, "gaps", gaps_by_day(silver))
        if is_audited:
            progress("audit")
            replace(made, "audit_daily", _verdicts(silver, through))
        _note(made, number, first, through, is_done=True)
    rows = {name: made.read(name).count() for name in GOLD_TABLES if name != "gold_runs"}
    return {"tables_root": root, "batches": max(through - first + 1, 0), "through_batch": through,
            "is_audited": is_audited, "tables": rows}  # fmt: skip


def _begun(silver: Tables, made: Tables) -> tuple[int, int, int]:
    """Return the run's number, its first batch and its last one; less than the first: nothing."""
    runs = made.read("gold_runs").orderBy(F.col("run").desc(), F.col("is_done").desc()).limit(1)
    last = next(iter(runs.collect()), None)
    if last is not None and not last["is_done"]:
        return last["run"], last["from_batch"], last["through_batch"]
    row = silver.read("batches").agg(F.max("batch")).first()
    through = (row[0] if row is not None else None) or 0
    number, first = (last["run"] + 1, last["through_batch"] + 1) if last is not None else (1, 1)
    if through >= first:
        _note(made, number, first, through, is_done=False)
    return number, first, through


def _note(made: Tables, number: int, first: int, through: int, *, is_done: bool) -> None:
    row = made.spark.range(1).select(
        *(F.lit(v).cast("long").alias(n) for n, v in
          (("run", number), ("from_batch", first), ("through_batch", through))),
        F.lit(is_done).alias("is_done"),
        F.current_timestamp().alias("at"),
    )  # fmt: skip
    made.append("gold_runs", row, batch=2 * number + is_done)


def _take(silver: Tables, made: Tables, first: int, through: int, progress: Progress) -> None:
    new = F.col("batch").between(first, through)
    fresh = silver.read("events").where(new)
    for name, rows_of in (
        ("boots", boots_of),
        ("qos2_messages", messages_of),
        ("qos2_deliveries", deliveries_of),
    ):
        progress(name.replace("_", " "))
        merge_totals(made, name, rows_of(fresh), through)
    progress("days")
    days = fresh.select("day").distinct()
    messages, deliveries = made.read("qos2_messages"), made.read("qos2_deliveries")
    touched = messages.where(new).select("day").union(deliveries.where(new).select("day"))
    daily = qos2_daily(_of_days(messages, touched), _of_days(deliveries, touched))
    _upsert(made, "qos2_daily", daily)
    whole = _of_days(silver.read("events").where(F.col("batch") <= through), days)
    _upsert(made, "gateway_health", gateway_health(whole, silver.read("segments"),
                                                   made.read("boots")))  # fmt: skip


def _of_days(rows: DataFrame, days: DataFrame) -> DataFrame:
    return rows.join(F.broadcast(days.distinct()), "day", "left_semi")


def _upsert(made: Tables, name: str, rows: DataFrame) -> None:
    """Put whole rows in place of those of their gateway and day: done twice it changes nothing."""
    contract = rows.select(*made.schemas[name].fieldNames())
    merge = Merge(made.path(name), contract, ON)
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def replace(made: Tables, name: str, rows: DataFrame) -> None:
    """Replace a small table as a whole, in one commit."""
    contract = rows.select(
        *(F.col(f.name).cast(f.dataType).alias(f.name) for f in made.schemas[name])
    )
    contract.write.format("delta").mode("overwrite").save(made.path(name))


def gaps_by_day(silver: Tables) -> DataFrame:
    """Return the gaps that stand now, as rows of `gaps`."""
    events = silver.read("events")
    found = gaps_of(silver.read("segments"), events.where("event = 'log_truncated'"))
    days = events.groupBy("gateway", "segment").agg(F.min("day").alias("day"))
    missing = F.col("to_sequence") - F.col("from_sequence") + 1
    rows = found.select(*GAP_COLUMNS).withColumn("missing", missing)
    return rows.join(days, ["gateway", "segment"], "left").select(*GAPS.fieldNames())


def _verdicts(silver: Tables, through: int) -> DataFrame:
    """Return rows of `audit_daily`: each gateway and day that has events has a verdict."""
    events = silver.read("events").select(*AUDITED)
    lacks = lacks_of(silver, events)
    places = silver.read("events").select("gateway", "store", "sequence", "day")
    found = judged(findings_of(events, lacks), lacks).select(
        "gateway", "store", "sequence", "verdict"
    )
    counted = (
        found.join(places, ["gateway", "store", "sequence"])
        .groupBy("gateway", "day")
        .agg(*(F.count_if(F.col("verdict") == kind).alias(name)
               for kind, name in (("violation", "violations"), ("inconclusive", "inconclusive"))))
    )  # fmt: skip
    rows = places.select("gateway", "day").distinct().join(counted, ["gateway", "day"], "left")
    rows = rows.fillna(0, ["violations", "inconclusive"]).withColumn("batch", F.lit(through))
    verdict = (
        F.when(F.col("violations") > 0, "violation")
        .when(F.col("inconclusive") > 0, "inconclusive")
        .otherwise("ok")
    )
    return rows.withColumn("verdict", verdict).select(*AUDIT_DAILY.fieldNames())
