"""Latencies of messages: the time from sending a message to its arrival.

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

CURVE_QUANTILES: Final = [1 - 10 ** (-tenth / 10) for tenth in range(41)]
"""Quantiles for the latency chart: from 0 to 0.9999, with ten steps for each additional
nine (0.9, 0.99, 0.999, 0.9999)."""


class Schedule:
    """The planned sending times of one publisher, which are `interval_seconds` apart."""

    def __init__(self, *, start_seconds: float, interval_seconds: float) -> None:
        self._start_seconds = start_seconds
        self._interval_seconds = interval_seconds

    def seconds_of(self, sequence: int) -> float:
        return self._start_seconds + sequence * self._interval_seconds

    def due_count(self, seconds: float) -> int:
        """Return how many messages the schedule requires to be sent by the time `seconds`."""
        return int((seconds - self._start_seconds) / self._interval_seconds) + 1


class SendTimes:
    """The times at which one publisher sent its messages, for measuring latencies.

    If the publisher has a schedule, latencies are measured from the planned times instead.
    """

    def __init__(self, *, step: int, in_transit_max: int) -> None:
        self.schedule: Schedule | None = None
        self._step = step
        self._mask = (1 << (in_transit_max // step + 1).bit_length()) - 1
        self._seconds = array("d", bytes(8 * (self._mask + 1)))

    def record_sent(self, sequence: int, count: int, seconds: float) -> None:
        """Record the time `seconds` at which the next `count` messages were sent.

        `sequence` is the sequence number of the first message.
        """
        if self.schedule is not None:
            return
        for index in self._timed(sequence, count):
            self._seconds[index & self._mask] = seconds

    def record_arrival(self, sequence: int, count: int, seconds: float, samples: "Samples") -> None:
        """Add the latencies of `count` messages, which arrived at the time `seconds`, to `samples`.

        `sequence` is the sequence number of the first message. Only timed messages are added.
        """
        schedule = self.schedule
        for index in self._timed(sequence, count):
            left = (
                self._seconds[index & self._mask]
                if schedule is None
                else schedule.seconds_of(index * self._step)
            )
            samples.add(seconds - left)

    def _timed(self, sequence: int, count: int) -> range:
        """Return the numbers of the timed messages among `count` messages that start at `sequence`.

        Timed messages are numbered separately. With a step of n, timed message 0 has the sequence
        number 0, timed message 1 has n, timed message 2 has 2n, and so on.
        """
        return range(-(-sequence // self._step), (sequence + count - 1) // self._step + 1)


class Samples:
    """The measured latencies in seconds, from which percentiles are calculated."""

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
        """Return a dictionary with p50, p90, p99, p99.9 and max in milliseconds.

        It is empty if there are no samples.
        """
        if not self._seconds:
            return {}
        milliseconds = self.milliseconds_of(list(PERCENTILES.values()))
        return dict(zip(PERCENTILES, milliseconds, strict=True)) | {
            "max": round(1000 * self._maximum, 4)
        }

    def curve_ms(self) -> list[tuple[float, float]]:
        """Return the points of a latency chart: pairs of a quantile and a latency in milliseconds.

        A quantile is the proportion of samples that do not exceed the latency, from 0 to 1. The
        list is empty if there are no samples.
        """
        quantiles = CURVE_QUANTILES if self._seconds else []
        return list(zip(quantiles, self.milliseconds_of(quantiles), strict=True))

    def milliseconds_of(self, quantiles: Sequence[float]) -> list[float]:
        """Return the latency in milliseconds for each of `quantiles`, which are from 0 to 1.

        At least one sample is required.
        """
        ordered = sorted(self._seconds)
        last = len(ordered) - 1
        return [
            round(1000 * ordered[min(last, int(quantile * len(ordered)))], 4)
            for quantile in quantiles
        ]
