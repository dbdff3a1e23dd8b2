"""Gold tables of fifty gateways over a month, with one planted fault of each kind.

`python -m tests.cloud_jobs.fleet_report.simulated_fleet DIR` writes them and a file of names.
`oncegate report --tables DIR --names DIR/names.csv` reads both.
"""

from __future__ import annotations

import datetime
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.fleet_report.sensors import SENSOR_TABLES
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import QUARANTINE

Row = dict[str, Any]
NOW: Final = datetime.datetime(2026, 1, 30, 12, tzinfo=datetime.UTC)
DAY: Final = datetime.timedelta(days=1)
HOUR: Final = datetime.timedelta(hours=1)
QUARTER: Final = datetime.timedelta(minutes=15)
SCHEMAS: Final = GOLD_TABLES | {"quarantine": QUARANTINE}
"""The rows of each table that the report reads."""
SITES: Final = ("Bakery North", "Bakery South", "Cold store", "Waterworks", "Depot <east> & yard")
_KINDS: Final = (
    ("board-{n:08x}", "temperature", "Cel", 4.0, 3.0, 60),
    ("board-{n:08x}", "humidity", "%RH", 62.0, 9.0, 60),
    ("board-{n:08x}", "pressure", "hPa", 1_013.0, 6.0, 60),
    ("meter-{n}", "energy", "kWh", 1_200.0, 0.0, 300),
    ("meter-{n}", "power", "W", 340.0, 210.0, 300),
    ("door", "open", None, 0.0, 1.0, 900),
    ("door", "state", None, 0.0, 0.0, 900),
    (None, "kettle/temperature", "Cel", 60.0, 35.0, 900),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planted:
    """The gateways with planted faults, one per kind of fault."""

    silent_sensor: str = "gw-0003"
    silent_gateway: str = "gw-0007"
    drops: str = "gw-0011"
    gap: str = "gw-0015"
    readings_missing: str = "gw-0019"
    violation: str = "gw-0023"
    clock_of_1970: str = "gw-0027"
    counter_reset: str = "gw-0031"
    full_disk: str = "gw-0035"
    damage: str = "gw-0038"
    old_version: str = "gw-0041"
    new_gateway: str = "gw-0049"
    """A gateway that was installed two days ago, which is not a fault."""


PLANTED: Final = Planted()


def write_simulated_fleet(
    root: Path, *, gateways: int = 50, days: int = 30, quarter_days: int = 7
) -> None:
    """Write the tables that the report reads, and `names.csv`."""
    source = random.Random(32)  # noqa: S311 - the same fleet in every run
    names = [f"gw-{n:04d}" for n in range(gateways)]
    shown = [NOW.date() - n * DAY for n in reversed(range(days))]
    rows: dict[str, list[Row]] = {
        "gateway_health": [_health(source, g, d) for g in names for d in shown if _is_up(g, d)],
        "qos2_daily": [_daily(source, g, d) for g in names for d in shown if _is_up(g, d)],
        "audit_daily": [_audit(g, d) for g in names for d in shown if _is_up(g, d)],
        "boots": [boot for g in names for boot in _boots(g)],
        "gaps": _gaps(shown),
        "drops": [{"gateway": PLANTED.drops, "day": shown[-2], "client_id": "archive-north",
                   "topic": "sensors/board/temperature", "reason": "queue_full", "messages": 70,
                   "last_time": NOW - DAY}],
        "sessions": [{"gateway": g, "state": "connected"} for g in names],
        "gold_runs": [{"run": 1, "through_batch": 30, "is_done": True}],
        "sensor_days": [row for g in names for row in _sensor_days(source, g, shown)],
        "sensor_quarters": [
            row for g in names for row in _sensor_quarters(source, g, shown[-quarter_days:])
        ],
    }  # fmt: skip
    write_tables(root, rows)
    lines = ["gateway,device,name,site"]
    for index, gateway in enumerate(names):
        site = SITES[index * len(SITES) // gateways]
        lines.append(f"{gateway},,Cabinet {index + 1},{site}")
        lines.append(f"{gateway},{_device('meter-{n}', index)},Main meter,")
    (root / "names.csv").write_text("\n".join(lines) + "\n")


def write_tables(root: Path, rows: dict[str, list[Row]], *, has_sensors: bool = True) -> None:
    """Write the tables that the report reads. Tables without rows are empty.

    Without `sensors`, the tables are those of a version that had no sensor tables.
    """
    for name, schema in SCHEMAS.items():
        is_sensors = name in SENSOR_TABLES
        if has_sensors or not is_sensors:
            columns = to_arrow_schema(schema, timezone="UTC")
            table = pa.Table.from_pylist(rows.get(name, []), schema=columns)
            partitions = ["day"] if is_sensors else None
            write_deltalake(str(root / name), table, partition_by=partitions)


def _number(gateway: str) -> int:
    return int(gateway.removeprefix("gw-"))


def _device(pattern: str | None, number: int) -> str | None:
    return None if pattern is None else pattern.format(n=number)


def _is_up(gateway: str, day: datetime.date) -> bool:
    if gateway == PLANTED.new_gateway:
        return day >= NOW.date() - 2 * DAY
    return gateway != PLANTED.silent_gateway or day <= _last_event(gateway).date()


def _last_event(gateway: str) -> datetime.datetime:
    silence = 3 * DAY if gateway == PLANTED.silent_gateway else datetime.timedelta(minutes=9)
    return NOW - silence


def _health(source: random.Random, gateway: str, day: datetime.date) -> Row:
    is_day = day == NOW.date() - 3 * DAY
    return {
        "gateway": gateway, "day": day, "events": source.randrange(20_000, 30_000), "segments": 24,
        "starts": 1, "unclean_starts": 0, "sessions_opened": source.randrange(4),
        "sessions_resumed": source.randrange(3), "sessions_lost": int(source.random() < 0.1),
        "clients": 5, "offline_seconds": 0.0, "lag_p50_seconds": 30 + source.random() * 30,
        "lag_max_seconds": 60 + source.random() * 400,
        "messages_expired": 0,
        "messages_dropped": 70 if gateway == PLANTED.drops and day == NOW.date() - DAY else 0,
        "truncations": int(gateway == PLANTED.full_disk and is_day),
        "damages": int(gateway == PLANTED.damage and is_day),
        "time_quality": "synchronised",
    }  # fmt: skip


def _daily(source: random.Random, gateway: str, day: datetime.date) -> Row:
    count = source.randrange(9_000, 11_000)
    return {
        "gateway": gateway, "day": day, "messages": count, "released": count, "abandoned": 0,
        "duplicates": source.randrange(3), "hold_p50_ms": 3, "hold_p99_ms": source.randrange(5, 60),
        "deliveries": count, "completed": count, "resent": source.randrange(9), "dropped": 0,
        "delivery_p50_ms": 5, "delivery_p99_ms": source.randrange(8, 400),
    }  # fmt: skip


def _audit(gateway: str, day: datetime.date) -> Row:
    is_bad = gateway == PLANTED.violation and day == NOW.date() - 5 * DAY
    return {"gateway": gateway, "day": day, "verdict": "violation" if is_bad else "ok",
            "violations": int(is_bad), "inconclusive": 0}  # fmt: skip


def _boots(gateway: str) -> Iterator[Row]:
    version = "0.0.9" if gateway == PLANTED.old_version else "0.1.0"
    yield {"gateway": gateway, "boot": f"{gateway}-1", "last_time": _last_event(gateway),
           "version": version, "batch": 29, "last_sequence": 90_000,
           "time_quality": "synchronised"}  # fmt: skip
    if gateway == PLANTED.clock_of_1970:
        yield {"gateway": gateway, "boot": f"{gateway}-2", "batch": 30, "version": version,
               "last_time": datetime.datetime(1970, 1, 1, 5, tzinfo=datetime.UTC),
               "last_sequence": 600, "time_quality": "unknown"}  # fmt: skip


def _gaps(shown: list[datetime.date]) -> list[Row]:
    return [
        {"gateway": PLANTED.gap, "kind": "sequence", "segment": 412, "from_sequence": 51_000,
         "to_sequence": 52_199, "missing": 1_200, "day": shown[-4],
         "detail": "no segment with them has landed"},
        {"gateway": PLANTED.readings_missing, "kind": "sensor", "from_sequence": 700,
         "to_sequence": 711, "missing": 12, "day": shown[-6], "device": "board-00000013",
         "device_boot": 3, "detail": "readings of board-00000013 in its start 3"},
    ]  # fmt: skip


def _value(source: random.Random, kind: tuple[Any, ...], at: datetime.datetime) -> float:
    _, quantity, _, middle, swing, _ = kind
    days = at.timestamp() / 86_400
    if quantity == "open":
        return float(8 < at.hour < 18 and source.random() < 0.4)
    if quantity == "energy":
        return float(middle + (days - 20_450) * 8.2)
    wave = math.sin(days * math.tau) * 0.6 + math.sin(days * math.tau / 9) * 0.4
    return float(middle + swing * (wave + source.uniform(-0.15, 0.15)))


def _row(
    source: random.Random,
    gateway: str,
    kind: tuple[Any, ...],
    begin: datetime.datetime,
    length: datetime.timedelta,
) -> Row:
    """Return one row of an interval, without the columns that identify the interval."""
    pattern, quantity, unit, _, _, interval = kind
    device = _device(pattern, _number(gateway))
    last_time = begin + length - datetime.timedelta(seconds=min(interval, 600))
    step = HOUR if length > HOUR else length / 3
    times = [begin + n * step for n in range(math.ceil(length / step))]
    values = [_value(source, kind, at) for at in times]
    row: Row = {
        "gateway": gateway, "device": device, "unit": unit, "day": begin.date(), "batch": 30,
        "name": quantity if device is None else f"{device}/{quantity}",
        "readings": max(int(length.total_seconds()) // interval, 1), "last_text": None,
        "first_time": begin, "last_time": last_time, "missing": 0, "repeats": 0,
        "time_quality": "synchronised",
    }  # fmt: skip
    if quantity == "state":
        return row | {"last_text": "closed"}
    row |= {"first": values[0], "last": values[-1], "minimum": min(values), "maximum": max(values),
            "mean": sum(values) / len(values)}  # fmt: skip
    if quantity == "energy":
        row |= {"increase": 8.2 * length / DAY, "resets": 0}
    return row


def _sensor_days(source: random.Random, gateway: str, shown: list[datetime.date]) -> Iterator[Row]:
    for kind in _KINDS:
        for day in shown:
            begin = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)
            end = _end(gateway, kind)
            if not _is_up(gateway, day) or begin >= end:
                continue
            row = _row(source, gateway, kind, begin, min(DAY, end - begin))
            if gateway == PLANTED.readings_missing and kind[1] == "humidity" and day == shown[-6]:
                row["missing"] = 12
            if gateway == PLANTED.counter_reset and kind[1] == "energy" and day == shown[-9]:
                row["resets"] = 1
            if gateway == PLANTED.clock_of_1970 and day == shown[-1]:
                row["time_quality"] = "unknown"
            yield row


def _sensor_quarters(
    source: random.Random, gateway: str, shown: list[datetime.date]
) -> Iterator[Row]:
    for kind in _KINDS:
        end = _end(gateway, kind)
        for day in shown:
            if not _is_up(gateway, day):
                continue
            begin = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)
            for n in range(96):
                at = begin + n * QUARTER
                if at < end:
                    yield _row(source, gateway, kind, at, QUARTER) | {"begin": at}


def _end(gateway: str, kind: tuple[Any, ...]) -> datetime.datetime:
    """Return the end of a series: the gateway's, or 5 hours earlier for the silent sensor."""
    is_silent = gateway == PLANTED.silent_sensor and kind[0] == "board-{n:08x}"
    return _last_event(gateway) - datetime.timedelta(hours=5 if is_silent else 0)


if __name__ == "__main__":
    write_simulated_fleet(Path(sys.argv[1]))
