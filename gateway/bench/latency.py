"""Latencies: when each message was meant to leave, and how long after that it had arrived.

With a rate the latency counts from the *planned* time of sending, so that a broker that stands
still for a second is charged for all the messages of that second, not for the one that happened to
be under way (coordinated omission). As fast as possible, there is no plan: it counts from just
before the write that hands the message to the kernel. The time of arrival is taken once a read.
Every `step`-th message is timed.
"""

from array import array
from collections.abc import Sequence
from typing import Final

STEP_FAST: Final = 64
"""Without a rate and with many messages under way every 64th is timed: at a million messages a
second still 15,000 samples, for a hundredth of the load generator's time."""

SAMPLES_MAX: Final = 1 << 20
"""Samples kept (8 MiB). When they are that many, every second one goes, and of the later ones
every second is kept: all parts of the run keep the same weight."""

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}

CURVE_SHARES: Final = [1 - 10 ** (-tenth / 10) for tenth in range(41)]
"""From the least latency to p99.99, ten steps for each nine."""


class Plan:
    """When each message of one publisher is meant to leave: one every `interval_seconds`."""

    def __init__(self, *, start_seconds: float, interval_seconds: float) -> None:
        self._start_seconds = start_seconds
        self._interval_seconds = interval_seconds

    def seconds_of(self, sequence: int) -> float:
        return self._start_seconds + sequence * self._interval_seconds

    def due_count(self, seconds: float) -> int:
        """Return how many messages ought to have left by now."""
        return int((seconds - self._start_seconds) / self._interval_seconds) + 1


class Departures:
    """When the messages of one publisher left, or were meant to; asked for those under way."""

    def __init__(self, *, step: int, under_way_max: int) -> None:
        self.plan: Plan | None = None
        self._step = step
        self._mask = (1 << (under_way_max // step + 1).bit_length()) - 1
        self._seconds = array("d", bytes(8 * (self._mask + 1)))

    def leave(self, sequence: int, count: int, seconds: float) -> None:
        """Note that `count` messages from `sequence` on leave now."""
        if self.plan is not None:
            return
        for index in self._timed(sequence, count):
            self._seconds[index & self._mask] = seconds

    def arrive(self, sequence: int, count: int, seconds: float, samples: "Samples") -> None:
        """Note that `count` messages from `sequence` on have arrived now."""
        plan = self.plan
        for index in self._timed(sequence, count):
            left = (
                self._seconds[index & self._mask]
                if plan is None
                else plan.seconds_of(index * self._step)
            )
            samples.add(seconds - left)

    def _timed(self, sequence: int, count: int) -> range:
        """Return which of these messages are timed, in steps."""
        return range(-(-sequence // self._step), (sequence + count - 1) // self._step + 1)


class Samples:
    """Latencies in seconds."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget what came before the measurement."""
        self._seconds = array("d")
        self._maximum = 0.0
        self._keep_every = 1
        self._skipped = 0

    def add(self, seconds: float) -> None:
        self._maximum = max(self._maximum, seconds)
        self._skipped += 1
        if self._skipped < self._keep_every:
            return
        self._skipped = 0
        self._seconds.append(seconds)
        if len(self._seconds) >= SAMPLES_MAX:
            self._seconds = self._seconds[::2]
            self._keep_every *= 2

    def percentiles_ms(self) -> dict[str, float]:
        """Return milliseconds by name: p50, p90, p99, p99.9, max; empty without a sample."""
        if not self._seconds:
            return {}
        milliseconds = self.milliseconds_of(list(PERCENTILES.values()))
        return dict(zip(PERCENTILES, milliseconds, strict=True)) | {
            "max": round(1000 * self._maximum, 4)
        }

    def curve_ms(self) -> list[tuple[float, float]]:
        """Return shares and the milliseconds that so many samples stay below; empty without any."""
        shares = CURVE_SHARES if self._seconds else []
        return list(zip(shares, self.milliseconds_of(shares), strict=True))

    def milliseconds_of(self, shares: Sequence[float]) -> list[float]:
        """Return what these shares of the samples, of which there is one at least, stay below."""
        ordered = sorted(self._seconds)
        last = len(ordered) - 1
        return [round(1000 * ordered[min(last, int(share * len(ordered)))], 4) for share in shares]
