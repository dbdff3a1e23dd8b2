"""Gold tables of a thousand gateways with every kind of fault, written without Spark.

`python -m tests.cloud_jobs.fleet_report.large_fleet DIR [GATEWAYS [QUANTITIES]]` writes the tables.
They serve to measure `oncegate report --tables DIR`.
"""

from __future__ import annotations

import datetime
import math
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from tests.cloud_jobs.fleet_report.simulated_fleet import SCHEMAS, write_tables

Row = dict[str, Any]
NOW = datetime.datetime(2026, 1, 30, 12, tzinfo=datetime.UTC)
DAYS = [NOW.date() - datetime.timedelta(days=n) for n in reversed(range(30))]
QUARTER_DAYS = 2
"""Days with rows per quarter of an hour: as many as the pages of a thousand gateways show."""
KINDS = ("temperature", "humidity", "pressure", "voltage")
HOSTILE = '<img src=x onerror="document.title=1">' + "W" * 60


def write_large_fleet(root: Path, gateways: int, quantities: int = 0) -> None:
    """Write the tables that the report reads, with `quantities` measured quantities per gateway."""
    source = random.Random(8)  # noqa: S311 - the same report in every run
    names = [f"site-{n // 40:02d}-gw-{n:04d}" for n in range(gateways - 1)] + [HOSTILE]
    rows: dict[str, list[Row]] = {
        "gateway_health": [_health(source, name, day) for name in names for day in DAYS
                           if not _is_silent(source, name)],
        "qos2_daily": [_daily(source, name, day) for name in names for day in DAYS],
        "audit_daily": [_audit(source, name, day) for name in names for day in DAYS],
        "boots": [_boot(source, name) for name in names],
        "gaps": [_gap(source, name, n) for n, name in enumerate(names[::9])],
        "sessions": [{"state": source.choice(("connected", "away"))} for _ in range(400)],
        "quarantine": [{"kind": "payload", "reason": "topic", "gateway": HOSTILE, "refused": 7},
                       {"kind": "segment", "reason": "renamed", "gateway": names[0]}],
        "gold_runs": [{"run": 1, "through_batch": 3, "is_done": True}],
    }  # fmt: skip
    write_tables(root, rows)
    for day in DAYS:
        _add_readings(root / "sensor_days", names, quantities, day, slots=1)
    # Older quarters of an hour are not read: the pages show at most a week of them.
    for day in DAYS[-QUARTER_DAYS:]:
        _add_readings(root / "sensor_quarters", names, quantities, day, slots=96)


def _add_readings(
    table: Path, names: list[str], quantities: int, day: datetime.date, *, slots: int
) -> None:
    """Add one row per series and time slot of a day, with four quantities per device."""
    if not quantities:
        return
    schema = to_arrow_schema(SCHEMAS[table.name], timezone="UTC")
    start = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)
    keys = [(name, f"board-{q // 4:08x}", f"board-{q // 4:08x}/{KINDS[q % 4]}")
            for name in names for q in range(quantities)]  # fmt: skip
    seconds = 86_400 // slots
    begins = [start + datetime.timedelta(seconds=n * seconds) for n in range(slots)]
    ends = [begin + datetime.timedelta(seconds=seconds - 60) for begin in begins]
    means = [round(20 + 6 * math.sin((len(keys) + 7 * n) / slots), 2) for n in range(slots)]
    count = len(keys)
    columns: dict[str, Sequence[object]] = {
        "gateway": [key[0] for key in keys for _ in range(slots)],
        "device": [key[1] for key in keys for _ in range(slots)],
        "name": [key[2] for key in keys for _ in range(slots)],
        "unit": ["Cel"] * (count * slots), "day": [day] * (count * slots),
        "readings": [seconds // 60] * (count * slots),
        "first": means * count, "last": means * count,
        "minimum": [mean - 0.37 for mean in means] * count,
        "maximum": [mean + 0.41 for mean in means] * count,
        "mean": [round(mean + 0.0123, 4) for mean in means] * count,
        "first_time": begins * count, "last_time": ends * count, "begin": begins * count,
        "missing": [0] * (count * slots), "repeats": [0] * (count * slots),
        "time_quality": ["synchronised"] * (count * slots),
    }  # fmt: skip
    nothing = [None] * (count * slots)
    arrays = [pa.array(columns.get(field.name, nothing), field.type) for field in schema]
    write_deltalake(str(table), pa.table(arrays, schema=schema), mode="append")


def _is_silent(source: random.Random, name: str) -> bool:
    return name.endswith("7") and source.random() < 0.4


def _some(source: random.Random, share: float, value: Callable[[], float]) -> float:
    return value() if source.random() < share else 0


def _health(source: random.Random, name: str, day: datetime.date) -> Row:
    return {
        "gateway": name, "day": day, "events": source.randrange(5_000, 90_000), "segments": 24,
        "starts": 1, "unclean_starts": int(_some(source, 0.03, lambda: 1)),
        "sessions_opened": source.randrange(40), "sessions_resumed": source.randrange(20),
        "sessions_lost": source.randrange(6), "clients": 12,
        "offline_seconds": float(_some(source, 0.05, lambda: source.randrange(60, 40_000))),
        "lag_p50_seconds": source.random() * 60,
        "lag_max_seconds": 60 + _some(source, 0.1, lambda: source.randrange(90_000)),
        "messages_dropped": 0, "messages_expired": 0,
    }  # fmt: skip


def _daily(source: random.Random, name: str, day: datetime.date) -> Row:
    count = source.randrange(1_000, 20_000)
    return {
        "gateway": name, "day": day, "messages": count, "released": count - 1, "abandoned": 1,
        "duplicates": source.randrange(9), "hold_p50_ms": 3, "hold_p99_ms": source.randrange(5, 90),
        "deliveries": count, "completed": count - 2, "resent": source.randrange(30),
        "dropped": int(_some(source, 0.02, lambda: source.randrange(300))),
        "delivery_p50_ms": 5, "delivery_p99_ms": source.randrange(8, 4_000),
    }  # fmt: skip


def _audit(source: random.Random, name: str, day: datetime.date) -> Row:
    chance = source.random()
    verdict = "violation" if chance < 0.001 else "inconclusive" if chance < 0.03 else "ok"
    return {"gateway": name, "day": day, "verdict": verdict,
            "violations": int(verdict == "violation"),
            "inconclusive": int(verdict == "inconclusive")}  # fmt: skip


def _boot(source: random.Random, name: str) -> Row:
    quiet = datetime.timedelta(hours=source.choice((0, 0, 0, 1, 30, 400)))
    version = source.choice(("1.2.0", "1.2.0", "1.1.3", "0.9.0", None))
    return {"gateway": name, "boot": name[:16], "last_time": NOW - quiet, "version": version}


def _gap(source: random.Random, name: str, number: int) -> Row:
    day, first = source.choice(DAYS), source.randrange(1_000_000)
    if number % 3:
        return {"gateway": name, "kind": "sequence", "segment": number + 2, "from_sequence": first,
                "to_sequence": first + number, "missing": number + 1, "day": day,
                "detail": "no segment with them has landed"}  # fmt: skip
    return {"gateway": name, "kind": "sensor", "from_sequence": first, "to_sequence": first,
            "missing": 1, "day": day, "device": "board-0000002a", "device_boot": 3,
            "detail": "readings of board-0000002a in its start 3"}  # fmt: skip


if __name__ == "__main__":
    _, target, *numbers = sys.argv
    write_large_fleet(Path(target), *([int(number) for number in numbers] or [1_000, 20]))
