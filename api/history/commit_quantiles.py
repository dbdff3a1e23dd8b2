"""Quantiles of the broker's commits, from its histogram. Pure."""

from collections.abc import Sequence


def quantile_of(bounds_ms: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """Return the duration in milliseconds below which a share of the commits were.

    ``counts`` has one number for each bound, and one for the commits above all of them. Within a
    class the commits are taken to be evenly spread. None: there was no commit.
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
