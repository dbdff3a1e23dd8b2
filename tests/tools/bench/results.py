"""Results of runs that did not take place, with counters that a test sets."""

from typing import Any

from gateway.tools.bench.processes import Usage
from gateway.tools.bench.result import Faults, Reading, Result
from gateway.tools.bench.scenario import Scenario

CLEAN = Faults(lost=0, duplicates=0, late=0, foreign=0, refused=0, unfinished=0)


def usage(cpu_seconds: float = 0.0, written_bytes: int | None = 0) -> Usage:
    return Usage(
        cpu_seconds=cpu_seconds, rss_bytes=1 << 20, rss_bytes_max=2 << 20,
        written_bytes=written_bytes,
    )  # fmt: skip


def reading(seconds: float, messages: int, **more: Any) -> Reading:
    """Return counters from a moment at which `messages` were sent, acknowledged and received."""
    values = {"received": messages, "cpu_seconds": 0.0, "broker": None} | more
    return Reading(seconds=seconds, sent=messages, completed=messages, **values)


def result(start: Reading, stop: Reading, **more: Any) -> Result:
    values: dict[str, Any] = {
        "scenario": Scenario(), "faults": CLEAN, "stalls": 0, "window_used": 1, "delivery_ms": {},
        "acknowledgement_ms": {}, "delivery_curve_ms": [], "acknowledgement_curve_ms": [],
        "timeline": [],
    }  # fmt: skip
    return Result(start=start, stop=stop, end=stop, **(values | more))
