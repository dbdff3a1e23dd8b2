"""Stores the gateway time in one row of the table `meta`.

Gateway time is a clock that never jumps. Each checkpoint writes the row, with the gateway time of
the batch with which the checkpoint began. At startup, later batches in the journal advance the
time.
"""

import json
from typing import Any

from gateway.broker.core.gateway_time import ClockQuality, GatewayTime, Outage

KEY = "clock"


def row_of(time: GatewayTime) -> str:
    """Return the JSON text for the row that stores the gateway time `time`."""
    run = time.run
    return json.dumps(
        {
            "gateway_ms": time.time_ms,
            "wall_ms": time.wall_ms,
            "clock": time.clock.word,
            "offset_ms": time.offset_ms,
            "run": None if run is None else _written_outage(run),
            "outages": [_written_outage(outage) for outage in time.outages],
        }
    )


def _written_outage(outage: Outage) -> list[int]:
    return [outage.before_ms, outage.before_message, outage.length_ms]


def load(time: GatewayTime, text: str) -> bool:
    """Set `time` to the values in the row's JSON text.

    If the text is invalid, leave `time` unchanged and return False.
    """
    try:
        row: dict[str, Any] = json.loads(text)
        gateway_ms, wall_ms = int(row["gateway_ms"]), int(row["wall_ms"])
        clock = ClockQuality[str(row["clock"]).upper()]
        offset_ms = None if row["offset_ms"] is None else int(row["offset_ms"])
        run = None if row["run"] is None else Outage(*map(int, row["run"]))
        outages = [Outage(*map(int, outage)) for outage in row["outages"]]
    except (ValueError, KeyError, TypeError, OverflowError):
        return False
    time.time_ms, time.wall_ms, time.clock = gateway_ms, wall_ms, clock
    time.offset_ms, time.run, time.outages = offset_ms, run, outages
    return True
