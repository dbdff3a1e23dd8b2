"""The lines that the devices send, and the check of what their subscriber received.

A line is a JSON reading, `{"v":"DEVICE.NUMBER.xxx"}`, padded to the wanted length. So the device
and the number can be read from the bridge's payload as well as from ser2net's raw line.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

WARM_UP = "w"
"""Replaces the number in lines before the measurement, which do not count."""
_NAMED = re.compile(rb"\b([0-9]+)\.([0-9]+|w)\.x")


@dataclass(frozen=True)
class Device:
    """A device that sends without a pause, with 8N1: ten bits of `baud_rate` per byte."""

    baud_rate: int
    line_bytes: int

    @property
    def bytes_per_second(self) -> int:
        return self.baud_rate // 10


@dataclass
class Verdict:
    """The number of lost and doubled lines, and the latencies since each line's last byte."""

    sent: int
    lost: int = 0
    doubled: int = 0
    latencies_ms: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Return the latency that this fraction of the lines does not exceed.

        Not a number if no line has arrived.
        """
        if not self.latencies_ms:
            return math.nan
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def line_of(device: int, number: int | str, line_bytes: int) -> bytes:
    """Return one line of `line_bytes` bytes, including its line end."""
    beginning, end = b'{"v":"%d.%s.' % (device, str(number).encode()), b'"}\n'
    return beginning + b"x" * (line_bytes - len(beginning) - len(end)) + end


def named_in(payload: bytes) -> tuple[int, int] | None:
    """Return device and number of a line, or None for a warm-up line or anything else."""
    match = _NAMED.search(payload)
    if match is None or match[2] == WARM_UP.encode():
        return None
    return int(match[1]), int(match[2])


def verdict_of(
    sent_ns: Mapping[int, list[int]],
    arrivals: Iterable[tuple[int, bytes]],
    named: Callable[[bytes], tuple[int, int] | None],
) -> Verdict:
    """Compare arrivals (time in ns, payload) with the times at which each device sent its lines.

    `named` returns device and number of a payload, or None if it does not count.
    """
    verdict = Verdict(sum(map(len, sent_ns.values())))
    seen: Counter[tuple[int, int]] = Counter()
    for arrived_ns, payload in arrivals:
        if (name := named(payload)) is None:
            continue
        seen[name] += 1
        device, number = name
        if seen[name] > 1 or number >= len(sent_ns[device]):
            verdict.doubled += 1
        else:
            verdict.latencies_ms.append((arrived_ns - sent_ns[device][number]) / 1e6)
    verdict.lost = verdict.sent - len(verdict.latencies_ms)
    return verdict
