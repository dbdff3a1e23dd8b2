"""Latencies: the time from sending a message to its arrival.

If a message rate is set, the latency is measured from the *planned* time of sending. This avoids
coordinated omission: if a broker stalls for a second, all messages planned for that second are
late, not only the message in transit. Without a rate, the latency is measured from just before the
message is written to the socket. The arrival time is measured once per read. Only every `step`-th
message is timed.
"""

from array import array
from collections.abc import Sequence
from typing import Final

STEP_FAST: Final = 64
"""Interval between timed messages without a rate and with many messages in transit. At a million
messages per second there are still 15,000 samples, for a hundredth of the load generator's time."""

SAMPLES_MAX: Final = 1 << 20
"""Maximum number of stored samples (8 MiB). When it is reached, every second sample is discarded,
and from then on only every second new sample is stored. All parts of the run keep the same weight.
"""

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}

CURVE_SHARES: Final = [1 - 10 ** (-tenth / 10) for tenth in range(41)]
"""Shares of the samples in the latency curve: from 0 to 0.9999, with ten steps for each additional
nine (0.9, 0.99, 0.999, 0.9999)."""


class Plan:
    """The schedule of one publisher: one message is due every `interval_seconds`."""

    def __init__(self, *, start_seconds: float, interval_seconds: float) -> None:
        self._start_seconds = start_seconds
        self._interval_seconds = interval_seconds

    def seconds_of(self, sequence: int) -> float:
        return self._start_seconds + sequence * self._interval_seconds

    def due_count(self, seconds: float) -> int:
        """Return how many messages should have been sent by the time `seconds`."""
        return int((seconds - self._start_seconds) / self._interval_seconds) + 1


class Departures:
    """The times at which one publisher sent the messages that are still in transit.

    If the publisher has a plan, the planned times are used instead.
    """

    def __init__(self, *, step: int, under_way_max: int) -> None:
        self.plan: Plan | None = None
        self._step = step
        self._mask = (1 << (under_way_max // step + 1).bit_length()) - 1
        self._seconds = array("d", bytes(8 * (self._mask + 1)))

    def leave(self, sequence: int, count: int, seconds: float) -> None:
        """Record that `count` messages starting at `sequence` were sent at the time `seconds`."""
        if self.plan is not None:
            return
        for index in self._timed(sequence, count):
            self._seconds[index & self._mask] = seconds

    def arrive(self, sequence: int, count: int, seconds: float, samples: "Samples") -> None:
        """Record that `count` messages starting at `sequence` arrived at the time `seconds`.

        The latencies of the timed messages are added to `samples`.
        """
        plan = self.plan
        for index in self._timed(sequence, count):
            left = (
                self._seconds[index & self._mask]
                if plan is None
                else plan.seconds_of(index * self._step)
            )
            samples.add(seconds - left)

    def _timed(self, sequence: int, count: int) -> range:
        """Return the indexes of the timed messages among `count` messages starting at `sequence`.

        If the step is n, only the messages with the sequence numbers 0, n, 2n and so on are timed.
        Their indexes are 0, 1, 2 and so on.
        """
        return range(-(-sequence // self._step), (sequence + count - 1) // self._step + 1)


class Samples:
    """Measured latencies in seconds, and their percentiles."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Discard all samples, for example after the warm-up."""
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
        """Return p50, p90, p99, p99.9 and max in milliseconds.

        The dictionary is empty if there are no samples.
        """
        if not self._seconds:
            return {}
        milliseconds = self.milliseconds_of(list(PERCENTILES.values()))
        return dict(zip(PERCENTILES, milliseconds, strict=True)) | {
            "max": round(1000 * self._maximum, 4)
        }

    def curve_ms(self) -> list[tuple[float, float]]:
        """Return the latency curve as pairs of a fraction and a latency in milliseconds.

        The fraction is the proportion of samples with at most this latency. The list is empty if
        there are no samples.
        """
        shares = CURVE_SHARES if self._seconds else []
        return list(zip(shares, self.milliseconds_of(shares), strict=True))

    def milliseconds_of(self, shares: Sequence[float]) -> list[float]:
        """Return the latency in milliseconds at each quantile.

        `shares` are the quantiles, from 0 to 1. At least one sample is required.
        """
        ordered = sorted(self._seconds)
        last = len(ordered) - 1
        return [round(1000 * ordered[min(last, int(share * len(ordered)))], 4) for share in shares]
