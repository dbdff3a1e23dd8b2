"""The results of a load generator run, as Python values and as JSON."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway.tools.bench.processes import Usage
from gateway.tools.bench.scenario import Scenario

BUSY_SHARE: Final = 0.9
"""A single-threaded process that uses more than this share of a core limits the rate."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Values of the counters at one moment of a load generator run."""

    seconds: float
    sent: int
    completed: int
    received: int
    cpu_seconds: float
    broker: Usage | None

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.sent, self.completed, self.received


def rate_of(before: Reading, now: Reading) -> float:
    """Return the message rate (messages/s) between two readings of the counters.

    This is the rate of received messages, or of sent messages if none were received.
    """
    messages = now.received - before.received or now.sent - before.sent
    return messages / max(now.seconds - before.seconds, 1e-9)


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Numbers of messages with faults, over the whole run.

    Subscribers count four faults: `lost` messages never arrived, `duplicates` arrived more than
    once, `late` messages arrived after a later message, and `foreign` messages were changed or do
    not belong to this run. Publishers count two: `refused` messages got an error code, and
    `unfinished` messages were never acknowledged.
    """

    lost: int
    duplicates: int
    late: int
    foreign: int
    refused: int
    unfinished: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """The results of a load generator run.

    Rates are measured from `start` to `stop`. Faults are counted from the first message to `end`.
    Each point of `timeline` contains the seconds since the start of the run, and the messages/s
    since the previous point.
    """

    scenario: Scenario
    start: Reading
    stop: Reading
    end: Reading
    faults: Faults
    stalls: int
    window_used: int
    delivery_ms: dict[str, float]
    acknowledgement_ms: dict[str, float]
    delivery_curve_ms: list[tuple[float, float]]
    acknowledgement_curve_ms: list[tuple[float, float]]
    timeline: list[tuple[float, float]]

    @property
    def seconds(self) -> float:
        return self.stop.seconds - self.start.seconds

    @property
    def sent(self) -> int:
        return self.stop.sent - self.start.sent

    @property
    def completed(self) -> int:
        return self.stop.completed - self.start.completed

    @property
    def received(self) -> int:
        return self.stop.received - self.start.received

    @property
    def counted(self) -> int:
        """The number of messages by which the resource usage is divided.

        It is the number of received messages, or of sent messages if the run has no receivers.
        """
        receives = self.scenario.subscribers and not self.scenario.never_reconnects
        return self.received if receives else self.sent

    @property
    def generator_share(self) -> float:
        """CPU usage of the load generator, as a fraction of one core. 1.0 is one full core."""
        return (self.stop.cpu_seconds - self.start.cpu_seconds) / self.seconds

    @property
    def broker_share(self) -> float | None:
        before, after = self.start.broker, self.stop.broker
        if before is None or after is None:
            return None
        return (after.cpu_seconds - before.cpu_seconds) / self.seconds

    @property
    def limit(self) -> Literal["rate", "broker", "generator", "neither"]:
        """The bottleneck that limits the message rate.

        The value is "rate" if a rate is configured, "broker" if the broker is busy, "generator" if
        only the load generator is busy, and "neither" if none of these applies.

        If both are busy, the result is "broker", because a busy broker makes many small writes,
        which keep the load generator busy too.
        """
        if self.scenario.rate is not None:
            return "rate"
        if self.broker_share is not None and self.broker_share > BUSY_SHARE:
            return "broker"
        return "generator" if self.generator_share > BUSY_SHARE else "neither"

    @property
    def is_clean(self) -> bool:
        """True if every message arrived once, unchanged and in order, and was acknowledged."""
        return not any(dataclasses.astuple(self.faults))

    def as_json(self) -> dict[str, Any]:
        scenario = dataclasses.asdict(self.scenario)
        del scenario["password"]
        cpu_seconds = self.stop.cpu_seconds - self.start.cpu_seconds
        return {
            "scenario": scenario,
            "seconds": round(self.seconds, 3),
            "messages": {"sent": self.sent, "received": self.received, "completed": self.completed},
            "per_second": {
                "sent": round(self.sent / self.seconds, 1),
                "received": round(self.received / self.seconds, 1),
                "completed": round(self.completed / self.seconds, 1),
            },
            "total": {
                "sent": self.end.sent,
                "received": self.end.received,
                "completed": self.end.completed,
            },
            "faults": dataclasses.asdict(self.faults),
            "stalls": self.stalls,
            "window_used": self.window_used,
            "delivery_ms": self.delivery_ms,
            "acknowledgement_ms": self.acknowledgement_ms,
            "timeline": [[round(at, 2), round(rate, 1)] for at, rate in self.timeline],
            "limit": self.limit,
            "generator": {
                "cpu_share": round(self.generator_share, 3),
                "cpu_seconds_per_million": self._per_million(cpu_seconds),
            },
            "broker": self._broker_as_json(),
        }

    def _broker_as_json(self) -> dict[str, Any] | None:
        before, after = self.start.broker, self.stop.broker
        if before is None or after is None:
            return None
        cpu_seconds = after.cpu_seconds - before.cpu_seconds
        written = None
        if before.written_bytes is not None and after.written_bytes is not None:
            written = after.written_bytes - before.written_bytes
        return {
            "cpu_share": round(cpu_seconds / self.seconds, 3),
            "cpu_seconds_per_million": self._per_million(cpu_seconds),
            "rss_bytes": after.rss_bytes,
            "rss_bytes_max": after.rss_bytes_max,
            "written_bytes": written,
            "written_bytes_per_message": (
                round(written / self.counted, 2) if written is not None and self.counted else None
            ),
        }

    def _per_million(self, seconds: float) -> float | None:
        return round(seconds / self.counted * 1e6, 3) if self.counted else None
