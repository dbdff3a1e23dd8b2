"""Data for the fleet's page, read from the gold tables with the `deltalake` library.

The query engine aggregates all rows. The size of the result therefore depends on the number of days
and gateways shown, and not on the size of the tables.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final

from cloud_jobs.fleet_report.limits import (
    DROPS_MAX,
    GAPS_MAX,
    GATEWAYS_MAX,
    LINES_MAX,
    REASONS_MAX,
    SILENT_SECONDS,
)
from cloud_jobs.fleet_report.open_tables import OpenTables, explained, open_tables
from cloud_jobs.fleet_report.sensors import (
    NO_FAULTS,
    SensorFaults,
    SensorReader,
    among,
    timestamp,
)
from cloud_jobs.tables.query_engine import QueryEngine, Row

_SUMS: Final = (
    "events", "starts", "unclean_starts", "sessions_opened", "sessions_resumed", "sessions_lost",
    "offline_seconds", "messages", "released", "abandoned", "duplicates", "deliveries",
    "completed", "dropped", "resent", "missing", "readings_missing",
    "messages_dropped", "messages_expired", "violations", "inconclusive", "damages", "truncations",
)  # fmt: skip
_CELLS: Final = """
WITH missing AS (
  SELECT gateway, day,
         sum(CASE WHEN kind = 'sensor' THEN 0 ELSE coalesce(missing, 1) END) AS missing,
         sum(CASE WHEN kind = 'sensor' THEN missing ELSE 0 END) AS readings_missing
  FROM gaps GROUP BY gateway, day
), cells AS (
  SELECT h.*, q.messages, q.released, q.abandoned, q.duplicates, q.deliveries, q.completed,
         q.dropped, q.resent, q.hold_p50_ms, q.hold_p99_ms, q.delivery_p50_ms, q.delivery_p99_ms,
         m.missing, m.readings_missing, a.verdict, a.violations, a.inconclusive
  FROM gateway_health h
  LEFT JOIN qos2_daily q ON q.gateway = h.gateway AND q.day = h.day
  LEFT JOIN audit_daily a ON a.gateway = h.gateway AND a.day = h.day
  LEFT JOIN missing m ON m.gateway = h.gateway AND m.day = h.day
  WHERE h.day BETWEEN DATE '{first}' AND DATE '{last}'
)
"""
_NOT_DELIVERED: Final = """
SELECT gateway, client_id, topic, reason, sum(messages) AS messages, max(day) AS day
FROM drops WHERE day BETWEEN DATE '{first}' AND DATE '{last}'
GROUP BY gateway, client_id, topic, reason
UNION ALL
SELECT gateway, client_id, CAST(NULL AS VARCHAR) AS topic,
       'session ' || discard_reason AS reason, count(*) AS messages, max(day) AS day
FROM qos2_deliveries
WHERE state = 'discarded' AND discard_reason IN ('dropped', 'expired')
  AND day BETWEEN DATE '{first}' AND DATE '{last}'
GROUP BY gateway, client_id, discard_reason
"""
"""Messages that a session should have received and did not. Messages that the client gave up
itself, with a clean session or a clean start, are not included."""
_TOTALS: Final = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in _SUMS)
_VERSION: Final = (
    "first_value(version ORDER BY CASE WHEN version IS NULL THEN 1 ELSE 0 END, "
    "last_sequence DESC) AS version"
)
"""SQL for the version of a gateway: the one of its newest start that has a version in `boots`."""
_WORST: Final = """
known AS (SELECT DISTINCT gateway FROM boots), ranked AS (
  SELECT known.gateway AS gateway, {totals}, max(delivery_p99_ms) AS delivery_p99_ms,
         max(lag_max_seconds) AS lag_seconds,
         count(CASE WHEN time_quality = 'unknown' THEN 1 END) AS untimed_days
  FROM known LEFT JOIN cells ON cells.gateway = known.gateway GROUP BY known.gateway
  ORDER BY violations DESC, missing DESC, CASE WHEN events = 0 THEN 0 ELSE 1 END,
           messages_dropped DESC, {with_problems}damages + truncations DESC,
           inconclusive DESC, unclean_starts DESC, offline_seconds DESC, gateway LIMIT {limit}
)
"""
"""SQL that orders gateways, worst first. A gateway without events on the shown days has no cell,
and counts as silent."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Data shown on the fleet's page. `cells` has one row for each shown gateway and day."""

    tables_root: str
    made_at: datetime.datetime
    through_batch: int
    days: list[datetime.date]
    gateways_count: int
    silent_count: int
    gateways: list[Row]
    cells: list[Row]
    fleet: dict[datetime.date, Row]
    versions: list[Row]
    sessions: list[Row]
    gaps: list[Row]
    gaps_count: int
    not_delivered: list[Row]
    discarded_count: int
    quarantine: list[Row]
    sensors: SensorFaults = NO_FAULTS
    has_sensors: bool = True
    """False if the tables are from an earlier version without tables of sensors."""


def read_figures(root: str, days: int, now: datetime.datetime) -> Figures:
    """Read the fleet's data for the last `days` days up to `now` (UTC).

    `root` is the directory or URL of the tables. Raises ReportError if reading fails.
    """
    with explained(root):
        return figures_of(open_tables(root), days, now)


def figures_of(opened: OpenTables, days: int, now: datetime.datetime) -> Figures:
    """Query the opened tables for the fleet's data on the last `days` days up to `now` (UTC).

    Raises one of the exceptions in `query_engine.READ_FAILURES` if a query fails.
    """
    tables = opened.engine
    shown = _days_shown(tables, days, now)
    reader = SensorReader(tables, first=shown[0], last=shown[-1], now=now)
    faults = reader.faults() if opened.has_sensors else NO_FAULTS
    cells = _CELLS.format(first=shown[0], last=shown[-1])
    silent = _silent(tables, now)
    gateways = _gateways(tables, cells, _gateways_with_problems(silent, faults), now)
    names = [row["gateway"] for row in gateways]
    counts = reader.counts_of(names) if opened.has_sensors else {}
    lost = not_delivered_sql(shown)
    return Figures(
        tables_root=tables.root,
        made_at=now,
        through_batch=_count(
            tables, "SELECT coalesce(max(through_batch), 0) AS n FROM gold_runs WHERE is_done"
        ),
        days=shown,
        gateways_count=_count(tables, "SELECT count(DISTINCT gateway) AS n FROM boots"),
        silent_count=len(silent),
        gateways=[row | counts.get(row["gateway"], {}) for row in gateways],
        cells=_cells(tables, cells, names),
        fleet={row["day"]: row for row in _fleet(tables, cells)},
        versions=_versions(tables),
        sessions=tables.rows("SELECT state, count(*) AS sessions FROM sessions GROUP BY state "
                             "ORDER BY state"),
        gaps=_largest_gaps(tables),
        gaps_count=_count(tables, "SELECT count(*) AS n FROM gaps"),
        not_delivered=tables.rows(
            f"SELECT * FROM ({lost}) l ORDER BY messages DESC, gateway, client_id LIMIT {DROPS_MAX}"
        ),
        discarded_count=_discarded(tables, lost),
        quarantine=_quarantine(tables),
        sensors=faults,
        has_sensors=opened.has_sensors,
    )  # fmt: skip


def _gateways_with_problems(silent: list[Row], faults: SensorFaults) -> list[str]:
    """Return the gateways that are silent, or have a sensor with a problem.

    Only the first LINES_MAX gateways in `silent` are included, because the page lists no more.
    """
    lines = (*silent[:LINES_MAX], *faults.silent, *faults.missing, *faults.resets)
    return sorted({row["gateway"] for row in lines})


def _gateways(
    tables: QueryEngine, cells: str, with_problems: list[str], now: datetime.datetime
) -> list[Row]:
    """Return the gateways to show, the worst first.

    `cells` is SQL that defines a table with one row per gateway and day. `with_problems` lists the
    gateways that are silent, or have a sensor with a problem.
    """
    first = f"CASE WHEN known.{among(with_problems)} THEN 0 ELSE 1 END, " if with_problems else ""
    worst = _WORST.format(totals=_TOTALS, limit=GATEWAYS_MAX, with_problems=first)
    rows = tables.rows(f"{cells}, {worst} SELECT * FROM ranked")
    names = [row["gateway"] for row in rows]
    states = {row["gateway"]: row for row in _latest_states(tables, names, now)}
    return [row | states.get(row["gateway"], {}) for row in rows]


def _cells(tables: QueryEngine, cells: str, gateways: list[str]) -> list[Row]:
    if not gateways:
        return []
    return tables.rows(f"{cells} SELECT * FROM cells WHERE {among(gateways)} ORDER BY gateway, day")


def _largest_gaps(tables: QueryEngine) -> list[Row]:
    return tables.rows(
        f"SELECT * FROM gaps ORDER BY coalesce(missing, 0) DESC, gateway LIMIT {GAPS_MAX}"
    )


def _quarantine(tables: QueryEngine) -> list[Row]:
    return tables.rows(
        "SELECT kind, reason, sum(coalesce(refused, 1)) AS refusals, "
        "count(DISTINCT gateway) AS gateways FROM quarantine GROUP BY kind, reason "
        f"ORDER BY refusals DESC LIMIT {REASONS_MAX}"
    )


def not_delivered_sql(days: list[datetime.date]) -> str:
    """Return an SQL query that counts undelivered messages by client, topic and reason."""
    return _NOT_DELIVERED.format(first=days[0], last=days[-1])


def _days_shown(tables: QueryEngine, days: int, now: datetime.datetime) -> list[datetime.date]:
    """Return the consecutive days to show, at most `days`.

    The last one is the latest day with events. The first one is also a day with events.
    """
    # Days in the future come from a broken clock and are ignored.
    tomorrow = now.date() + datetime.timedelta(days=1)
    last: datetime.date = _edge(tables, "max", f"day <= '{tomorrow}'") or now.date()
    first = last - datetime.timedelta(days=days - 1)
    first = _edge(tables, "min", f"day BETWEEN '{first}' AND '{last}' AND events > 0") or last
    return [first + datetime.timedelta(days=n) for n in range((last - first).days + 1)]


def _edge(tables: QueryEngine, which: str, condition: str) -> datetime.date | None:
    found = tables.rows(f"SELECT {which}(day) AS day FROM gateway_health WHERE {condition}")
    day: datetime.date | None = found[0]["day"]
    return day


def _fleet(tables: QueryEngine, cells: str) -> list[Row]:
    """Return one row per day: totals over all gateways, and median and maximum durations."""
    return tables.rows(
        f"{cells} SELECT day, count(*) AS gateways, {_TOTALS}, "
        "count(CASE WHEN verdict = 'ok' THEN 1 END) AS ok, "
        "count(CASE WHEN verdict = 'inconclusive' THEN 1 END) AS doubtful, "
        "count(CASE WHEN verdict = 'violation' THEN 1 END) AS violating, "
        + ", ".join(
            f"median({name}) AS {name}, max({name}) AS {name}_worst"
            for name in ("hold_p50_ms", "hold_p99_ms", "delivery_p50_ms", "delivery_p99_ms",
                         "lag_p50_seconds", "lag_max_seconds")
        )
        + " FROM cells GROUP BY day"
    )  # fmt: skip


def _versions(tables: QueryEngine) -> list[Row]:
    """Return the number of gateways that run each version."""
    return tables.rows(
        f"SELECT version, count(*) AS gateways FROM (SELECT gateway, {_VERSION} "
        f"FROM boots GROUP BY gateway) v GROUP BY version ORDER BY 2 DESC LIMIT {REASONS_MAX}"
    )


def _count(tables: QueryEngine, sql: str) -> int:
    return int(tables.rows(sql)[0]["n"])


def _discarded(tables: QueryEngine, lost: str) -> int:
    """Count the undelivered messages that were discarded because their session ended.

    `lost` is the SQL query for undelivered messages (`not_delivered_sql`).
    """
    sums = f"SELECT sum(messages) AS messages FROM ({lost}) l WHERE reason LIKE 'session %'"
    return _count(tables, f"SELECT coalesce(messages, 0) AS n FROM ({sums}) s")


def _silent(tables: QueryEngine, now: datetime.datetime) -> list[Row]:
    """Return the gateways that have sent no events for SILENT_SECONDS, most recently seen first."""
    since = timestamp(now - datetime.timedelta(seconds=SILENT_SECONDS))
    return tables.rows(
        f"SELECT * FROM (SELECT gateway, {_last_seen(now)} AS seen FROM boots GROUP BY gateway) g "
        f"WHERE seen < {since} OR seen IS NULL ORDER BY seen DESC"
    )


def _last_seen(now: datetime.datetime) -> str:
    """Return an SQL expression for the time of a gateway's last event.

    Times more than a day after `now` are ignored, because they come from a wrong clock.
    """
    ahead = timestamp(now + datetime.timedelta(days=1))
    return f"max(CASE WHEN last_time <= {ahead} THEN last_time END)"


def _latest_states(tables: QueryEngine, gateways: list[str], now: datetime.datetime) -> list[Row]:
    """Return the time of each gateway's last event, its version, and its time quality.

    The time quality is the worst one since the gateway's latest start.
    """
    if not gateways:
        return []
    return tables.rows(
        f"SELECT gateway, {_last_seen(now)} AS last_seen, {_VERSION}, "
        "first_value(time_quality ORDER BY coalesce(batch, 0) DESC) AS newest_quality "
        f"FROM boots WHERE {among(gateways)} GROUP BY gateway"
    )
