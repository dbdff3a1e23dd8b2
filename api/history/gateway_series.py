"""The gateway's own series in the history: rates, queues, latency, disk and machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from api.history.history import Reading
from api.models.broker import BrokerStatus, CountPerQos
from api.status.machine import Machine
from api.status.observer import Overview

GATEWAY: Final = "gateway/"

UNITS: Final = {
    "messages_in": "1/s",
    "messages_out": "1/s",
    "queued_messages": "",
    "delivery_seconds": "s",
    "commit_p50": "ms",
    "commit_p99": "ms",
    "connections": "",
    "disk_free": "B",
    "disk_written": "B/s",
    "cpu": "%",
    "memory": "%",
    "temperature": "Cel",
    "upload_waiting": "",
}
"""Units of the series, by name without the prefix ``gateway/``."""


@dataclass(frozen=True)
class _Moment:
    overview: Overview
    machine: Machine


class GatewaySeries:
    """Converter that derives readings of the gateway's own series from overviews of its state.

    Rates are computed from the counters in two consecutive overviews.
    """

    def __init__(self) -> None:
        self._before: _Moment | None = None

    def readings_of(self, overview: Overview, machine: Machine) -> list[Reading]:
        """Return a reading for each of the gateway's series that currently has a value."""
        now = _Moment(overview, machine)
        values = {**dict(_gauges_of(now))}
        if self._before is not None:
            values.update(_rates_of(self._before, now))
        self._before = now
        time_ms = overview.broker.time_ms
        return [
            Reading(GATEWAY + name, UNITS[name], time_ms, 1, value, value, value, value)
            for name, value in values.items()
        ]


def _gauges_of(now: _Moment) -> Iterator[tuple[str, float]]:
    broker, machine = now.overview.broker, now.machine
    yield "queued_messages", broker.queued.messages
    yield "connections", broker.connections.open
    if broker.disk is not None:
        yield "disk_free", broker.disk.free_bytes
    if machine.memory_used_share is not None:
        yield "memory", round(100 * machine.memory_used_share, 1)
    if machine.temperature is not None:
        yield "temperature", machine.temperature
    if now.overview.upload.status is not None:
        yield "upload_waiting", now.overview.upload.status.sealed.count
    bridge = now.overview.serial.status
    if bridge is not None and bridge.outbox.delivery_seconds is not None:
        yield "delivery_seconds", bridge.outbox.delivery_seconds


def _rates_of(before: _Moment, now: _Moment) -> Iterator[tuple[str, float]]:
    earlier, later = before.overview.broker, now.overview.broker
    seconds = now.overview.answered_at - before.overview.answered_at
    if seconds <= 0:
        return
    if earlier.boot == later.boot:
        came = _sum_of(later.messages.received) - _sum_of(earlier.messages.received)
        went = _sum_of(later.messages.sent) - _sum_of(earlier.messages.sent)
        yield "messages_in", round(max(0, came) / seconds, 3)
        yield "messages_out", round(max(0, went) / seconds, 3)
        yield from _commits_of(earlier, later)
    was, machine = before.machine, now.machine
    if was.written_bytes is not None and machine.written_bytes is not None:
        yield "disk_written", round(max(0, machine.written_bytes - was.written_bytes) / seconds)
    if was.ticks is not None and machine.ticks is not None:
        busy, total = (new - old for new, old in zip(machine.ticks, was.ticks, strict=True))
        if total > 0:
            yield "cpu", round(100 * min(max(busy / total, 0.0), 1.0), 1)


def _commits_of(earlier: BrokerStatus, later: BrokerStatus) -> Iterator[tuple[str, float]]:
    was, histogram = earlier.journal.commit_histogram, later.journal.commit_histogram
    if was is None or histogram is None or len(was.counts) != len(histogram.counts):
        return
    pairs = zip(histogram.counts, was.counts, strict=True)
    counts = [max(0, new - old) for new, old in pairs]
    for name, share in (("commit_p50", 0.5), ("commit_p99", 0.99)):
        milliseconds = quantile_of(histogram.bounds_ms, counts, share)
        if milliseconds is not None:
            yield name, round(milliseconds, 3)


def _sum_of(counts: CountPerQos) -> int:
    return counts.qos0 + counts.qos1 + counts.qos2


def quantile_of(bounds_ms: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """Return the commit duration, in milliseconds, at the quantile `share` (0 to 1).

    ``bounds_ms`` are the upper bounds of the histogram's buckets. ``counts`` has one count per
    bucket, and one more for commits above the last bound. The calculation assumes that the commits
    in a bucket are evenly distributed. Return None if there was no commit.
    """
    total = sum(counts)
    if total == 0 or len(counts) != len(bounds_ms) + 1:
        return None
    wanted, below = share * total, 0
    for index, count in enumerate(counts):
        if count and below + count >= wanted:
            low = bounds_ms[index - 1] if index else 0.0
            high = bounds_ms[index] if index < len(bounds_ms) else 2 * bounds_ms[-1]
            return low + (high - low) * (wanted - below) / count
        below += count
    return None
