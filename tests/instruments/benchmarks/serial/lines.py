"""The lines that the benchmark's devices send, and what their subscriber has to find again. Pure.

A line is one JSON reading, `{"v":"DEVICE.NUMBER.xxx"}`, filled up to the length that it shall have:
so a payload of the bridge and the raw line of the peer both name their line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

WARM_UP = "w"
"""In place of a number: sent before the measurement, and not counted."""
_NAMED = re.compile(rb"\b([0-9]+)\.([0-9]+|w)\.x")


@dataclass(frozen=True)
class Device:
    """One device that sends without a pause: `baud_rate` in 8N1, so a tenth as many bytes."""

    baud_rate: int
    line_bytes: int

    @property
    def bytes_per_second(self) -> int:
        return self.baud_rate // 10


@dataclass
class Verdict:
    """What arrived of what was sent, and how long after the last byte of its line."""

    sent: int
    lost: int = 0
    doubled: int = 0
    latencies_ms: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """The latency that so many of the lines do not exceed."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def line_of(device: int, number: int | str, line_bytes: int) -> bytes:
    """One line with its end, of so many bytes."""
    beginning, end = b'{"v":"%d.%s.' % (device, str(number).encode()), b'"}\n'
    return beginning + b"x" * (line_bytes - len(beginning) - len(end)) + end


def named_in(payload: bytes) -> tuple[int, int] | None:
    """Device and number of a line; None for one of the warm-up, and for anything else."""
    match = _NAMED.search(payload)
    if match is None or match[2] == WARM_UP.encode():
        return None
    return int(match[1]), int(match[2])


def verdict_of(sent_ns: Mapping[int, list[int]], arrivals: Iterable[tuple[int, bytes]]) -> Verdict:
    """Hold what arrived (when, in ns, and what) against what each device has sent, and when."""
    verdict = Verdict(sum(map(len, sent_ns.values())))
    seen: Counter[tuple[int, int]] = Counter()
    for arrived_ns, payload in arrivals:
        if (named := named_in(payload)) is None:
            continue
        seen[named] += 1
        device, number = named
        if seen[named] > 1 or number >= len(sent_ns[device]):
            verdict.doubled += 1
        else:
            verdict.latencies_ms.append((arrived_ns - sent_ns[device][number]) / 1e6)
    verdict.lost = verdict.sent - len(verdict.latencies_ms)
    return verdict
