"""Gold tables of a fleet of a thousand gateways with every kind of trouble, without Spark."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import QUARANTINE, SESSIONS

Row = dict[str, Any]
NOW = datetime.datetime(2026, 1, 30, 12, tzinfo=datetime.UTC)
DAYS = [NOW.date() - datetime.timedelta(days=n) for n in reversed(range(30))]
HOSTILE = '<img src=x onerror="document.title=1">' + "W" * 60


def write_large_fleet(root: Path, gateways: int) -> None:
    """Write the tables that the page reads."""
    source = random.Random(8)  # noqa: S311 - the same page in every run
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
    for name, schema in (GOLD_TABLES | {"sessions": SESSIONS, "quarantine": QUARANTINE}).items():
        columns = to_arrow_schema(schema, timezone="UTC")
        write_deltalake(str(root / name), pa.Table.from_pylist(rows.get(name, []), schema=columns))


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
