"""What a run has measured, as values and as JSON."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from gateway.bench.processes import Usage
from gateway.bench.scenario import Scenario

GENERATOR_LIMITED_SHARE = 0.9
"""Above this share of one core it is the load generator that limits, not the broker."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Counters at one moment of the run."""

    seconds: float
    sent: int
    completed: int
    received: int
    cpu_seconds: float
    broker: Usage | None


@dataclass(frozen=True, kw_only=True)
class Result:
    """Rates are those between `start` and `stop`; what was lost is counted over the whole run,
    after the drain."""

    scenario: Scenario
    start: Reading
    stop: Reading
    lost: int
    duplicates: int
    late: int
    foreign: int
    refused: int
    unfinished: int
    gave_up: int
    window_used: int
    delivery_ms: dict[str, float]
    acknowledgement_ms: dict[str, float]

    @property
    def seconds(self) -> float:
        return self.stop.seconds - self.start.seconds

    @property
    def sent(self) -> int:
        return self.stop.sent - self.start.sent

    @property
    def received(self) -> int:
        return self.stop.received - self.start.received

    @property
    def completed(self) -> int:
        return self.stop.completed - self.start.completed

    @property
    def generator_share(self) -> float:
        """Of one core."""
        return (self.stop.cpu_seconds - self.start.cpu_seconds) / self.seconds

    @property
    def generator_limited(self) -> bool:
        return self.scenario.rate is None and self.generator_share > GENERATOR_LIMITED_SHARE

    @property
    def is_clean(self) -> bool:
        """Everything came once, unchanged and in order, and every exchange ended."""
        wrong = (self.lost, self.duplicates, self.late, self.foreign, self.refused, self.unfinished)
        return not any(wrong)

    def as_json(self) -> dict[str, Any]:
        scenario = dataclasses.asdict(self.scenario)
        del scenario["password"]
        counted = self.received or self.completed
        cpu_seconds = self.stop.cpu_seconds - self.start.cpu_seconds
        return {
            "scenario": scenario,
            "seconds": round(self.seconds, 3),
            "sent": self.sent,
            "received": self.received,
            "completed": self.completed,
            "sent_per_second": round(self.sent / self.seconds),
            "received_per_second": round(self.received / self.seconds),
            "completed_per_second": round(self.completed / self.seconds),
            "lost": self.lost,
            "duplicates": self.duplicates,
            "late": self.late,
            "foreign": self.foreign,
            "refused": self.refused,
            "unfinished": self.unfinished,
            "gave_up": self.gave_up,
            "window_used": self.window_used,
            "delivery_ms": self.delivery_ms,
            "acknowledgement_ms": self.acknowledgement_ms,
            "generator": {
                "cpu_share": round(self.generator_share, 3),
                "cpu_seconds_per_million": _per_million(cpu_seconds, counted),
                "limited": self.generator_limited,
            },
            "broker": self._broker_as_json(counted),
        }

    def _broker_as_json(self, counted: int) -> dict[str, Any] | None:
        before, after = self.start.broker, self.stop.broker
        if before is None or after is None:
            return None
        cpu_seconds = after.cpu_seconds - before.cpu_seconds
        written = None
        if before.written_bytes is not None and after.written_bytes is not None:
            written = after.written_bytes - before.written_bytes
        return {
            "cpu_share": round(cpu_seconds / self.seconds, 3),
            "cpu_seconds_per_million": _per_million(cpu_seconds, counted),
            "rss_bytes": after.rss_bytes,
            "rss_bytes_max": after.rss_bytes_max,
            "written_bytes": written,
            "written_bytes_per_message": (
                round(written / counted, 2) if written is not None and counted else None
            ),
        }


def _per_million(seconds: float, messages: int) -> float | None:
    return round(seconds / messages * 1e6, 3) if messages else None
