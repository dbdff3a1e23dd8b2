"""What a run's report shows, read from the tables."""

from __future__ import annotations

import time
from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.audit.gaps import GAP_COLUMNS, gaps_of
from cloud_jobs.ingest.run import Run
from cloud_jobs.limits import (
    BOARDS_SHOWN_MAX,
    GAPS_SHOWN_MAX,
    GATEWAYS_SHOWN_MAX,
    REPORT_SEGMENTS_SMALL_MAX,
)
from cloud_jobs.report import Gap, GatewayRange, IngestReport, RepeatedStart, TableCount
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables, each


def _totals(tables: Tables, since: int) -> dict[str, int]:
    """Sum the counts of all batches after `since`; `batches` is the number of them."""
    batches = tables.read("batches").where(F.col("batch") > since)
    names = [name for name in batches.columns if name not in ("batch", "finished_at")]
    sums = batches.agg(
        F.count("*").alias("batches"),
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names),
    ).collect()
    return {name: int(value) for name, value in sums[0].asDict().items()}


def report_of(tables: Tables, settings: IngestSettings, run: Run, *, began: float) -> IngestReport:
    """Return the report of a run that began at ``began`` (monotonic seconds)."""
    with small_effort(tables.spark, is_small=run.segments <= REPORT_SEGMENTS_SMALL_MAX):
        found = _found(tables, run.since)
    totals = found.totals
    gaps, gaps_count = found.gaps
    gateways, gateways_count = found.gateways
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
        files_ignored=run.ignored,
        tables=_table_counts(found.rows, totals),
        quarantine=found.refused,
        gateways=gateways,
        gateways_count=gateways_count,
        gaps=gaps,
        gaps_count=gaps_count,
        repeated_starts=found.repeated_starts,
        seconds=time.monotonic() - began,
    )


class _Found(NamedTuple):
    totals: dict[str, int]
    gaps: tuple[list[Gap], int]
    gateways: tuple[list[GatewayRange], int]
    rows: dict[str, int]
    refused: dict[tuple[str, str], int]
    repeated_starts: list[RepeatedStart]


def _found(tables: Tables, since: int) -> _Found:
    """Ask the tables, several at a time."""
    segments = tables.read("segments").persist()
    try:
        with side_by_side() as submit:
            gaps = submit(_gaps, tables, segments)
            gateways = submit(_gateways, tables, segments)
            rows = submit(_row_counts, tables, segments, since)
            totals = submit(_totals, tables, since)
            refused = submit(_refused, tables)
            starts = submit(_repeated_starts, tables)
        kinds, quarantined = refused.result()
        counts = rows.result() | {"quarantine": quarantined}
        return _Found(
            totals.result(), gaps.result(), gateways.result(), counts, kinds, starts.result()
        )
    finally:
        segments.unpersist()


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
    batches = tables.read("batches")
    # Of the two tables that grow without end the batches have counted the rows.
    new = {"events": "events_new", "sensor_readings": "readings_new"}
    found = tables.sums(
        [
            each(segments, "segments"),
            each(tables.read("sessions"), label),
            *(
                batches.select(F.lit(name).alias("name"), F.col(column).alias("number"))
                for name, column in new.items()
            ),
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
    events = tables.read("events").where(F.col("event") == "log_truncated")
    gaps, count = _gaps_with(segments, events.where("false"))
    torn = {gap.gateway for gap in gaps if gap.kind == "sequence"}
    if torn:
        # Only these gateways' events are read, to see whether they account for the gaps.
        gaps, count = _gaps_with(segments, events.where(F.col("gateway").isin(*torn)))
    return gaps, count


def _gaps_with(segments: DataFrame, truncations: DataFrame) -> tuple[list[Gap], int]:
    found = gaps_of(segments, truncations)
    counted = found.withColumn("count", F.count("*").over(Window.partitionBy(F.lit(1))))
    ordered = counted.orderBy("gateway", "segment", "kind").limit(GAPS_SHOWN_MAX)
    rows = ordered.select(*GAP_COLUMNS, "count").collect()
    return [Gap(*row[:-1]) for row in rows], rows[0]["count"] if rows else 0


def _gateways(tables: Tables, segments: DataFrame) -> tuple[list[GatewayRange], int]:
    """Return what is known of each gateway: from its segments alone, where none has an event that
    another one has, too."""
    of_start = Window.partitionBy("gateway", "boot").orderBy("first_sequence", "last_sequence")
    before = F.max("last_sequence").over(of_start.rowsBetween(Window.unboundedPreceding, -1))
    good = F.col("lines") - F.col("bad_lines")
    read = segments.where("state = 'ingested'").withColumn("last_before", before)
    found = read.groupBy("gateway").agg(
        F.count_distinct(F.when(good > 0, F.col("boot"))).alias("boots"),
        F.count("*").alias("segments"),
        F.min(F.when(good > 0, F.col("first_sequence"))).alias("first_sequence"),
        F.max(F.when(good > 0, F.col("last_sequence"))).alias("last_sequence"),
        F.sum(good).alias("events"),
        F.sum("bad_lines").alias("bad_lines"),
        F.count_if(F.col("first_sequence") <= F.col("last_before")).alias("overlaps"),
    )
    counted = found.where("events > 0").withColumn(
        "count", F.count("*").over(Window.partitionBy(F.lit(1)))
    )
    rows = counted.orderBy("gateway").limit(GATEWAYS_SHOWN_MAX).collect()
    doubled = _events_of(tables, [row["gateway"] for row in rows if row["overlaps"]])
    ranges = [
        GatewayRange(
            **{name: row[name] for name in GatewayRange.__slots__ if name != "events"},
            events=doubled.get(row["gateway"], row["events"]),
        )
        for row in rows
    ]
    return ranges, rows[0]["count"] if rows else 0


def _events_of(tables: Tables, gateways: list[str]) -> dict[str, int]:
    if not gateways:
        return {}
    mine = tables.read("events").where(F.col("gateway").isin(*gateways))
    return {row["gateway"]: row["count"] for row in mine.groupBy("gateway").count().collect()}
