"""Quantiles of the duration of the broker's commits, from its histogram. Pure."""

from collections.abc import Sequence


def quantile_of(bounds_ms: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """Return the duration in milliseconds that a fraction `share` of the commits did not exceed.

    ``counts`` has one count per bound, and one more for commits above the last bound. Within a
    bucket the commits are assumed to be evenly spread. Return None if there was no commit.
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
