"""Comparison of tables with the truth of a fleet. Rows are dictionaries, read by any engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.instruments.fleet.fleet import Truth

Rows = Callable[[str], list[dict[str, Any]]]
"""Returns all rows of a table."""


def check(rows: Rows, truth: Truth) -> None:
    """Compare the tables with everything that the truth lists."""
    _check_rows(rows, truth)
    _check_faults(rows, truth)
    _check_times(rows, truth)


def _check_rows(rows: Rows, truth: Truth) -> None:
    """Check that everything that was sent and has landed is exactly one row."""
    events = [(row["gateway"], row["boot"], row["sequence"]) for row in rows("events")]
    assert len(events) == len(set(events))
    assert set(events) == truth.events
    readings = rows("sensor_readings")
    assert len(readings) == len(truth.readings)
    assert {
        (row["gateway"], row["device"], row["device_boot"], row["device_sequence"]): row["value"]
        for row in readings
    } == truth.readings
    for name, state in (("qos2_messages", "released"), ("qos2_deliveries", "completed")):
        found = rows(name)
        assert {(row["gateway"], row["message"]) for row in found} == truth.messages
        assert len(found) == len(truth.messages)
        assert {row["state"] for row in found} == {state}


def _check_faults(rows: Rows, truth: Truth) -> None:
    """Check that all gaps, refused segments, duplicates and violations are in the tables."""
    gaps = rows("gaps")
    assert {
        (row["gateway"], row["from_sequence"], row["to_sequence"])
        for row in gaps if row["kind"] != "sensor"
    } == truth.gaps  # fmt: skip
    assert {
        (row["device"], row["from_sequence"], row["to_sequence"])
        for row in gaps if row["kind"] == "sensor"
    } == truth.sensor_gaps  # fmt: skip
    refused = Counter((row["gateway"], row["kind"], row["reason"]) for row in rows("quarantine"))
    assert refused == truth.refused
    assert Counter(row["state"] for row in rows("segments"))["duplicate"] == truth.doubled
    for name in ("audit_daily", "qos2_messages"):
        violating = {row["gateway"] for row in rows(name) if row["verdict"] == "violation"}
        assert violating == truth.violating


def _check_times(rows: Rows, truth: Truth) -> None:
    off: Counter[str] = Counter()
    for row in rows("gateway_health"):
        off[row["gateway"]] += row["offline_seconds"]
    assert dict(off) == pytest.approx(
        {gateway: ms / 1000 for gateway, ms in truth.offline_ms.items()}, abs=1
    )
    corrected = [row for row in rows("qos2_messages") if row["time_quality"] != "synchronised"]
    assert {row["time_quality"] for row in corrected} <= {"corrected"}
    held = {
        (row["gateway"], row["message"]): round(row["held"].timestamp() * 1000) for row in corrected
    }
    assert held == truth.held_ms
