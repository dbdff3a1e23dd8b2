"""Latencies, their percentiles, and the check against the required limits, as pure functions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

RATIO_MOST: Final = 2.0
"""The largest allowed ratio of an honest client's latency under attack to calm, at p50 and p99."""

SERIES: Final = ("QoS 1 acknowledged", "QoS 1 received", "QoS 2 acknowledged", "QoS 2 received")
"""Latencies from publishing to PUBACK or PUBCOMP, and from publishing to the subscriber."""

PERCENTILES: Final = (50, 99)


def percentile_of(values: Sequence[float], percentile: float) -> float:
    """Return the smallest value that at least `percentile` percent do not exceed (nearest rank).

    Raises ValueError if there are no values.
    """
    if not values:
        raise ValueError("no values, so there is no percentile")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percentile / 100) - 1)]


Latencies = Mapping[str, Sequence[float]]
"""Latencies in seconds, by the names of SERIES."""


def percentiles_of(latencies: Latencies) -> dict[str, dict[str, float]]:
    """Return percentiles in ms for each series: {"QoS 1 received": {"p50": 1.2, ...}, ...}."""
    return {
        name: {f"p{each}": 1000 * percentile_of(values, each) for each in PERCENTILES}
        for name, values in latencies.items()
    }


Percentiles = Mapping[str, Mapping[str, float]]


def ratios_of(
    calm: Percentiles, during: Percentiles, floor: Percentiles | None = None
) -> dict[str, dict[str, float]]:
    """Return the ratio of each figure to the calm one, or to the one in `floor` if it is larger."""
    least = calm if floor is None else floor
    return {
        name: {
            each: during[name][each] / max(calm[name][each], least[name][each])
            for each in calm[name]
        }
        for name in calm
    }


def medians_of(rounds: Sequence[Percentiles]) -> dict[str, dict[str, float]]:
    """Return the median of each figure over the rounds."""
    first = rounds[0]
    return {
        name: {each: median(one[name][each] for one in rounds) for each in first[name]}
        for name in first
    }


def worst_of(ratios: Percentiles, each: str) -> tuple[str, float]:
    """Return the series with the largest ratio at one percentile, and this ratio."""
    name = max(ratios, key=lambda name: ratios[name][each])
    return name, ratios[name][each]


@dataclass(frozen=True)
class Conservation:
    """Counts of the honest clients' messages and lost connections."""

    sent: int = 0
    lost: int = 0
    doubled: int = 0
    connections_lost: int = 0


def failures_of(
    ratios: Percentiles | None,
    *,
    memory_bytes: int,
    memory_bytes_most: int,
    conservation: Conservation,
) -> list[str]:
    """Return what exceeds its limits in a row, a few words each. The list is empty if nothing does.

    `ratios` is None if a series has no latency at all, because no message arrived.
    """
    return [
        *(["a series has no messages"] if ratios is None else _latency_failures(ratios)),
        *_if(
            memory_bytes > memory_bytes_most,
            f"{memory_bytes / 2**20:,.0f} MiB of memory, {memory_bytes_most / 2**20:,.0f} allowed",
        ),
        *_if(conservation.lost > 0, f"messages lost: {conservation.lost}"),
        *_if(conservation.doubled > 0, f"messages duplicated: {conservation.doubled}"),
        *_if(conservation.connections_lost > 0, "an honest client was disconnected"),
    ]


def _latency_failures(ratios: Percentiles) -> Iterable[str]:
    for percentile in PERCENTILES:
        name, ratio = worst_of(ratios, f"p{percentile}")
        if ratio > RATIO_MOST:
            yield f"p{percentile} of {name}: {ratio:.1f} times calm"


def _if(condition: bool, words: str) -> list[str]:
    return [words] if condition else []


def growth_of(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the growth of each counter, without the counters that did not grow."""
    grown = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in sorted(grown.items()) if count}
