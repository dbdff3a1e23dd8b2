"""Queries the tables for the report of an ingest run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa

from cloud_jobs.audit.gaps import GAP_COLUMNS, GAPS
from cloud_jobs.ingest.run import Run
from cloud_jobs.ingest.totals import segments_in
from cloud_jobs.limits import (
    BOARDS_SHOWN_MAX,
    GAPS_SHOWN_MAX,
    GATEWAYS_SHOWN_MAX,
    SEGMENTS_HELD_MAX,
)
from cloud_jobs.report import Gap, GatewayRange, IngestReport, RepeatedStart, TableCount
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.in_memory import InMemory
from cloud_jobs.tables.query_engine import QueryEngine
from cloud_jobs.tables.sql import Queryable


def report_of(tables: Tables, settings: IngestSettings, run: Run, *, began: float) -> IngestReport:
    """Return the report of a run. The argument `began` is the run's start (`time.monotonic`)."""
    is_small = is_small_run(run)
    with small_effort(tables.spark, is_small=is_small):
        memory = None if run.known is None else run.known.load()
        if run.known is not None and memory is not None:
            found = _query_held(tables, run, memory)
            run.known.forget()
        else:
            found = _query_in_process(tables) if is_small else _query_with_spark(tables)
    return _report(settings, run, found, began)


def report_without_spark(
    engine: QueryEngine, settings: IngestSettings, run: Run, *, began: float
) -> IngestReport:
    """Return the report without Spark. Raises one of READ_FAILURES if a query fails."""
    with InMemory() as memory:
        memory.add("segments", engine.table(f"SELECT {', '.join(_OF_SEGMENTS)} FROM segments"))
        found = _found_in(memory, engine, _refused(engine), _repeated_starts(engine))
    return _report(settings, run, found, began)


def is_small_run(run: Run) -> bool:
    """Return True if the table `segments` is small enough for the driver's memory."""
    return segments_in(run.before) + segments_in(run.news) <= SEGMENTS_HELD_MAX


def _report(settings: IngestSettings, run: Run, found: _Found, began: float) -> IngestReport:
    totals = run.news
    refused, quarantined = found.refused
    rows = {"segments": found.segments, "quarantine": quarantined} | {
        name: run.before[of_batch] + totals[of_batch]
        for name, of_batch in (("events", "events_new"), ("sensor_readings", "readings_new"))
    }
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
        tables=_table_counts(rows, totals),
        quarantine=refused,
        gateways=gateways,
        gateways_count=gateways_count,
        gaps=gaps,
        gaps_count=gaps_count,
        repeated_starts=found.repeated_starts,
        seconds=time.monotonic() - began,
    )


@contextmanager
def _segments_held(tables: Tables) -> Iterator[Tables]:
    """Cache the table `segments` with Spark for all queries of a report, and yield the tables."""
    rows = tables.read("segments").select(*_OF_SEGMENTS).persist()
    rows.createOrReplaceTempView(_VIEW)
    try:
        yield replace(tables, views={"segments": _VIEW})
    finally:
        tables.spark.catalog.dropTempView(_VIEW)
        rows.unpersist()


_VIEW: Final = "oncegate_segments"
_OF_SEGMENTS: Final = (
    "name", "state", "reason", "gateway", "boot", "store", "segment", "first_sequence",
    "last_sequence", "file_sha256", "previous_sha256", "lines", "bad_lines",
)  # fmt: skip
"""Columns of `segments` used by the queries."""
_OF_TRUNCATIONS: Final = pa.schema(
    {"gateway": pa.string(), "event": pa.string(), "from_sequence": pa.int64(),
     "to_sequence": pa.int64()}
)  # fmt: skip
_STATES: Final = ("ingested", "quarantined", "duplicate")


_Refused: TypeAlias = tuple[dict[tuple[str, str], int], int]
"""Number of refusals by kind and reason, and the total number of rows in `quarantine`."""


class _Found(NamedTuple):
    gaps: tuple[list[Gap], int]
    gateways: tuple[list[GatewayRange], int]
    segments: int
    refused: _Refused
    repeated_starts: list[RepeatedStart]


def _query_in_process(tables: Tables) -> _Found:
    """Read the table `segments` once with Spark, and run the report's queries on it in memory."""
    with side_by_side() as submit, InMemory() as memory:
        segments = submit(tables.read("segments").select(*_OF_SEGMENTS).toArrow)
        refused = submit(_refused, tables)
        starts = submit(_repeated_starts, tables)
        memory.add("segments", segments.result())
        return _found_in(memory, tables, refused.result(), starts.result())


def _query_held(tables: Tables, run: Run, memory: InMemory) -> _Found:
    """Run the report's queries on the rows of `segments` that the run already has in memory."""
    is_refusing = run.before["quarantined"] + run.news["quarantined"] > 0
    is_refusing |= bool(memory.query("SELECT name FROM {segments} WHERE state = 'quarantined'"))
    with side_by_side() as submit:
        starts = submit(_repeated_starts, tables)
        refused = _refused(tables) if is_refusing else ({}, 0)
        found = _found_in(memory, tables, refused, [])
    return found._replace(repeated_starts=starts.result())


def _found_in(
    memory: InMemory, tables: Queryable, refused: _Refused, starts: list[RepeatedStart]
) -> _Found:
    """Run the report's queries on `memory`. `refused` and `starts` are added to the results."""
    gaps = _gaps(memory, lambda gateways: memory.add("events", _truncations_of(tables, gateways)))
    gateways = _gateways(memory, tables)
    return _Found(gaps, gateways, _segments_count(memory), refused, starts)


def _truncations_of(tables: Queryable, gateways: list[str]) -> pa.Table:
    rows = tables.query(
        f"SELECT {', '.join(_OF_TRUNCATIONS.names)} FROM {{events}} "
        "WHERE event = 'log_truncated' AND gateway IN :gateways",
        gateways=gateways,
    )
    return pa.Table.from_pylist(rows, _OF_TRUNCATIONS)


def _query_with_spark(tables: Tables) -> _Found:
    """Run all queries for the report with Spark. Several of them run concurrently."""
    with _segments_held(tables) as held, side_by_side() as submit:
        gaps = submit(_gaps, held)
        gateways = submit(_gateways, held, tables)
        count = submit(_segments_count, held)
        refused = submit(_refused, tables)
        starts = submit(_repeated_starts, tables)
    return _Found(
        gaps.result(), gateways.result(), count.result(), refused.result(), starts.result()
    )


def _refused(tables: Queryable) -> _Refused:
    """Return the number of refusals by kind and reason, and the number of rows in `quarantine`."""
    found = tables.query(
        "SELECT kind, reason, sum(coalesce(refused, 1)) AS refused, count(*) AS number "
        "FROM {quarantine} GROUP BY kind, reason"
    )
    refused = {(row["kind"], row["reason"]): row["refused"] for row in found}
    return refused, sum(row["number"] for row in found)


def _segments_count(tables: Queryable) -> int:
    (found,) = tables.query("SELECT count(*) AS number FROM {segments}")
    count: int = found["number"]
    return count


def _table_counts(rows: Mapping[str, int], totals: Mapping[str, int]) -> dict[str, TableCount]:
    shown = ("segments", "events", "sensor_readings", "quarantine")
    changed = {
        "segments": sum(totals[f"segments_{how}"] for how in _STATES),
        "events": totals["events_new"],
        "sensor_readings": totals["readings_new"],
        "quarantine": totals["quarantined"],
    }
    repeats = {
        "segments": totals["segments_duplicate"],
        "events": totals["events_duplicate"],
        "sensor_readings": totals["readings_duplicate"],
    }
    return {name: TableCount(rows[name], changed[name], repeats.get(name, 0)) for name in shown}


def _repeated_starts(tables: Queryable) -> list[RepeatedStart]:
    found = tables.query(
        "SELECT gateway, device, count(DISTINCT device_boot) AS starts FROM {sensor_readings} "
        "WHERE board_start IS NOT NULL GROUP BY gateway, device ORDER BY gateway, device "
        f"LIMIT {BOARDS_SHOWN_MAX}"
    )
    return [RepeatedStart(**row) for row in found]


def _gaps(
    tables: Queryable, load_truncations: Callable[[list[str]], None] = lambda gateways: None
) -> tuple[list[Gap], int]:
    """Return the first GAPS_SHOWN_MAX gaps and the total number of gaps.

    The event `log_truncated` of a gateway may explain its gaps. These events are needed only if
    there are gaps, so the function `load_truncations` is called with the gateways that have gaps.
    """
    gaps, count = _gaps_with(tables, [])
    gateways = sorted({gap.gateway for gap in gaps if gap.kind == "sequence"})
    if not gateways:
        return gaps, count
    load_truncations(gateways)
    return _gaps_with(tables, gateways)


def _gaps_with(tables: Queryable, gateways: list[str]) -> tuple[list[Gap], int]:
    """Return the first gaps and the total count, using the events `log_truncated` of `gateways`."""
    truncations = _TRUNCATIONS if gateways else _NO_TRUNCATIONS
    found = tables.query(
        f"SELECT {', '.join(GAP_COLUMNS)}, count(*) OVER () AS number "
        f"FROM ({GAPS.replace('{truncations}', truncations)}) AS gaps "
        f"ORDER BY gateway, segment, kind LIMIT {GAPS_SHOWN_MAX}",
        gateways=gateways,
    )
    gaps = [Gap(**{name: row[name] for name in GAP_COLUMNS}) for row in found]
    return gaps, found[0]["number"] if found else 0


_TRUNCATIONS: Final = """(SELECT gateway, from_sequence, to_sequence FROM {events}
    WHERE event = 'log_truncated' AND gateway IN :gateways) AS truncations"""
_NO_TRUNCATIONS: Final = """(SELECT gateway, first_sequence AS from_sequence,
    last_sequence AS to_sequence FROM {segments} WHERE FALSE) AS truncations"""

_GATEWAYS: Final = f"""
WITH ingested AS (
    SELECT gateway, boot, first_sequence, last_sequence, lines - bad_lines AS good, bad_lines,
        max(last_sequence) OVER (PARTITION BY gateway, boot ORDER BY first_sequence, last_sequence
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_before
    FROM {{segments}} WHERE state = 'ingested'
), found AS (
    SELECT gateway, count(DISTINCT CASE WHEN good > 0 THEN boot END) AS boots,
        count(*) AS segments,
        min(CASE WHEN good > 0 THEN first_sequence END) AS first_sequence,
        max(CASE WHEN good > 0 THEN last_sequence END) AS last_sequence,
        sum(good) AS events, sum(bad_lines) AS bad_lines,
        sum(CASE WHEN first_sequence <= last_before THEN 1 ELSE 0 END) AS overlaps
    FROM ingested GROUP BY gateway
)
SELECT *, count(*) OVER () AS number FROM found WHERE events > 0
ORDER BY gateway LIMIT {GATEWAYS_SHOWN_MAX}
"""


def _gateways(segments: Queryable, tables: Queryable) -> tuple[list[GatewayRange], int]:
    """Return summaries of the first GATEWAYS_SHOWN_MAX gateways, and the number of all gateways."""
    # If a gateway's segments overlap, its events are counted in the table, not by segment.
    rows = segments.query(_GATEWAYS)
    doubled = _events_of(tables, [row["gateway"] for row in rows if row["overlaps"]])
    ranges = [
        GatewayRange(
            **{name: row[name] for name in GatewayRange.__slots__ if name != "events"},
            events=doubled.get(row["gateway"], row["events"]),
        )
        for row in rows
    ]
    return ranges, rows[0]["number"] if rows else 0


def _events_of(tables: Queryable, gateways: list[str]) -> dict[str, int]:
    if not gateways:
        return {}
    found = tables.query(
        "SELECT gateway, count(*) AS number FROM {events} WHERE gateway IN :gateways "
        "GROUP BY gateway",
        gateways=gateways,
    )
    return {row["gateway"]: row["number"] for row in found}
