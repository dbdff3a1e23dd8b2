"""The result of all rounds of an attack, and the check against its limits, as pure functions."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from tests.instruments.benchmarks.hostile.figures import (
    PERCENTILES,
    RATIO_MOST,
    Conservation,
    Percentiles,
    failures_of,
    medians_of,
    ratios_of,
    worst_of,
)

Row = dict[str, Any]

MEDIANS: Final = ("calm_ms", "during_ms", "after_ms", "ratios")
LARGEST: Final = ("memory_before_bytes", "memory_most_bytes", "memory_after_bytes")


def floor_of(rounds: Sequence[Row]) -> Percentiles:
    """Return this machine's calm latencies: the median over all rounds before their attacks."""
    return medians_of([row["calm_ms"] for row in rounds])


def merged_of(rounds: Sequence[Row], floor: Percentiles) -> Row:
    """Return one row of all rounds: latencies as medians, memory as maximum, losses as sums.

    If the broker ended or stalled in a round, this round is the whole row.
    """
    broken = next((row for row in rounds if "during_ms" not in row), None)
    if broken is not None:
        return broken | {"rounds": len(rounds)}
    judged = [
        row | {"ratios": ratios_of(row["calm_ms"], row["during_ms"], floor)} for row in rounds
    ]
    merged = dict(rounds[-1])
    merged |= {name: medians_of([row[name] for row in judged]) for name in MEDIANS}
    merged |= {name: max(row[name] for row in rounds) for name in LARGEST}
    total: Counter[str] = Counter()
    for row in rounds:
        total.update(row["conservation"])
    return merged | {"conservation": dict(total), "rounds": len(rounds)}


def failures_of_row(row: Row) -> list[str]:
    """Return the reasons why a row exceeds its limits, or an empty list."""
    if "ended" in row:
        return ["the broker exited"]
    problem = row["done"]["problem"]
    return [
        *([] if problem is None else [f"the attack stopped early: {problem}"]),
        *failures_of(
            row.get("ratios"),
            memory_bytes=row["memory_most_bytes"],
            memory_bytes_most=row["memory_allowed_bytes"],
            conservation=Conservation(**row["conservation"]),
        ),
    ]


def noise_of(control: Row) -> str | None:
    """Return why the machine was too busy for a verdict, or None.

    `control` is the row without an attack.
    """
    for percentile in PERCENTILES:
        name, ratio = worst_of(control["ratios"], f"p{percentile}")
        if ratio > RATIO_MOST:
            return (
                f"the machine was too busy for a result: without an attack, p{percentile} of "
                f"{name} was {ratio:.1f} times calm"
            )
    return None
