"""What a run's report shows, read from the tables."""

from __future__ import annotations

import time

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.audit.gaps import GAP_COLUMNS, gaps_of
from cloud_jobs.limits import BOARDS_SHOWN_MAX, GAPS_SHOWN_MAX, GATEWAYS_SHOWN_MAX
from cloud_jobs.report import Gap, GatewayRange, IngestReport, RepeatedStart, TableCount
from cloud_jobs.settings import IngestSettings
from cloud_jobs.tables.delta_tables import Tables, each


def _totals(tables: Tables, since: int) -> dict[str, int]:
    """Sum the counts of all batches after `since`; `batches` is the number of them."""
    batches = tables.read("batches")
    names = [name for name in batches.columns if name not in ("batch", "finished_at")]
    sums = (
        batches.where(F.col("batch") > since)
        .agg(
            F.count("*").alias("batches"),
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names),
        )
        .first()
    )
    assert sums is not None
    return {name: int(value) for name, value in sums.asDict().items()}


def report_of(
    tables: Tables, settings: IngestSettings, *, since: int, ignored: int, began: float
) -> IngestReport:
    """Return the report of a run that began at ``began`` (monotonic seconds).

    ``since`` is the last batch that was finished before, ``ignored`` the number of files that are
    no segments by their name.
    """
    totals = _totals(tables, since)
    segments = tables.read("segments").persist()
    try:
        gaps, gaps_count = _gaps(tables, segments)
        gateways, gateways_count = _gateways(tables, segments)
        rows = _row_counts(tables, segments, since)
    finally:
        segments.unpersist()
    refused, rows["quarantine"] = _refused(tables)
    return IngestReport(
        source=settings.source,
        tables_root=settings.tables,
        batches=totals["batches"],
        segments_ingested=totals["segments_ingested"],
        segments_quarantined=totals["segments_quarantined"],
        segments_duplicate=totals["segments_duplicate"],
        events_new=totals["events_new"],
        events_duplicate=totals["events_duplicate"],
        readings_new=totals["readings_new"],
        readings_duplicate=totals["readings_duplicate"],
        quarantined_new=totals["quarantined"],
        files_ignored=ignored,
        tables=_table_counts(rows, totals),
        quarantine=refused,
        gateways=gateways,
        gateways_count=gateways_count,
        gaps=gaps,
        gaps_count=gaps_count,
        repeated_starts=_repeated_starts(tables),
        seconds=time.monotonic() - began,
    )


def _refused(tables: Tables) -> tuple[dict[tuple[str, str], int], int]:
    """Return the refusals by kind and reason, and how many rows stand for them."""
    refusals = F.sum(F.coalesce("refused", F.lit(1))).alias("refused")
    kinds = tables.read("quarantine").groupBy("kind", "reason")
    found = kinds.agg(refusals, F.count("*").alias("rows")).collect()
    refused = {(row["kind"], row["reason"]): row["refused"] for row in found}
    return refused, sum(row["rows"] for row in found)


def _row_counts(tables: Tables, segments: DataFrame, since: int) -> dict[str, int]:
    """Count the rows of the tables; of `sessions` also those that changed, as `touched`."""
    label = F.when(F.col("batch") > since, "touched").otherwise("sessions")
    found = tables.sums(
        [
            each(segments, "segments"),
            each(tables.read("events"), "events"),
            each(tables.read("sensor_readings"), "sensor_readings"),
            each(tables.read("sessions"), label),
        ]
    )
    names = ("segments", "events", "sensor_readings", "sessions", "touched")
    rows = dict.fromkeys(names, 0) | found
    rows["sessions"] += rows["touched"]
    return rows


def _table_counts(rows: dict[str, int], totals: dict[str, int]) -> dict[str, TableCount]:
    touched_segments = sum(
        totals[f"segments_{how}"] for how in ("ingested", "quarantined", "duplicate")
    )
    shown = ("segments", "events", "sensor_readings", "sessions", "quarantine")
    changed = {
        "segments": touched_segments,
        "events": totals["events_new"],
        "sensor_readings": totals["readings_new"],
        "sessions": rows["touched"],
        "quarantine": totals["quarantined"],
    }
    repeats = {
        "segments": totals["segments_duplicate"],
        "events": totals["events_duplicate"],
        "sensor_readings": totals["readings_duplicate"],
    }
    return {name: TableCount(rows[name], changed[name], repeats.get(name, 0)) for name in shown}


def _repeated_starts(tables: Tables) -> list[RepeatedStart]:
    again = tables.read("sensor_readings").where("board_start IS NOT NULL")
    found = again.groupBy("gateway", "device").agg(F.count_distinct("device_boot").alias("starts"))
    rows = found.orderBy("gateway", "device").limit(BOARDS_SHOWN_MAX).collect()
    return [RepeatedStart(row["gateway"], row["device"], row["starts"]) for row in rows]


def _gaps(tables: Tables, segments: DataFrame) -> tuple[list[Gap], int]:
    truncations = tables.read("events").where(F.col("event") == "log_truncated")
    found = gaps_of(segments, truncations)
    counted = found.withColumn("count", F.count("*").over(Window.partitionBy(F.lit(1))))
    ordered = counted.orderBy("gateway", "segment", "kind").limit(GAPS_SHOWN_MAX)
    rows = ordered.select(*GAP_COLUMNS, "count").collect()
    return [Gap(*row[:-1]) for row in rows], rows[0]["count"] if rows else 0


def _gateways(tables: Tables, segments: DataFrame) -> tuple[list[GatewayRange], int]:
    ingested = segments.where("state = 'ingested'").groupBy("gateway")
    read = ingested.agg(F.count("*").alias("segments"), F.sum("bad_lines").alias("bad_lines"))
    events = (
        tables.read("events")
        .groupBy("gateway")
        .agg(
            F.count_distinct("boot").alias("boots"),
            F.min("sequence").alias("first_sequence"),
            F.max("sequence").alias("last_sequence"),
            F.count("*").alias("events"),
        )
    )
    columns = ("boots", "segments", "first_sequence", "last_sequence", "events", "bad_lines")
    found = read.join(events, "gateway").select("gateway", *columns)
    counted = found.withColumn("count", F.count("*").over(Window.partitionBy(F.lit(1))))
    rows = counted.orderBy("gateway").limit(GATEWAYS_SHOWN_MAX).collect()
    return [GatewayRange(*row[:-1]) for row in rows], rows[0]["count"] if rows else 0
