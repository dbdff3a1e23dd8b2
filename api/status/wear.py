"""Bytes written to the SD card, and an estimate of its remaining life.

In the first hour after the machine has started, the bytes per day are not estimated. Each estimate
states its assumptions. This module does no I/O.
"""

from typing import Final

from api.models.values import Count, FiniteNumber, Reported, Seconds
from api.wording import bytes_of

SECTOR_BYTES: Final = 512
"""Bytes of a sector in the kernel's counters, whatever sectors the card itself has."""
SECONDS_BEFORE_A_RATE: Final = 3600.0
"""Seconds of uptime before a daily rate is calculated.

Startup writes more than an hour of quiet work, so an earlier rate would describe only the startup.
"""
ERASURES: Final = 500
"""Number of times that a block of a card can be erased.

Makers of cards do not state this; their flash (TLC, QLC) is sold with 300 to 3,000 erasures, and
the cheapest cards have the cheapest flash.
"""
AMPLIFICATION: Final = 10
"""Bytes that a card writes internally for each byte written to it.

A card rewrites a whole block of megabytes for a few kilobytes in its middle. The factor is 2 if all
writes are appended, and more than 10 for scattered writes to a poor card.
"""
YEARS_SHOWN_MAX: Final = 30.0
"""Longest life that is shown in years; beyond it, other causes end a card's life."""


class Wear(Reported):
    """Bytes written to the SD card since the kernel started. Earlier writes are not counted."""

    written_bytes: Count
    up_seconds: Seconds
    card_bytes: Count
    bytes_a_day: Count | None
    """Bytes written per day; null in the first hour."""
    life_years: FiniteNumber | None
    """Estimated life of the card; null in the first hour, or if nothing is written."""
    assumption: str
    """Assumptions on which the estimate is based."""


def wear_of(*, sectors_written: int, sectors: int, up_seconds: float) -> Wear:
    """Estimate the card's wear from the kernel's counters.

    Args:
        sectors_written: number of sectors written since the kernel started.
        sectors: number of sectors of the card.
        up_seconds: seconds since the kernel started.

    Raises:
        ValueError: a counter has a value that is impossible.
    """
    if sectors_written < 0 or sectors <= 0 or up_seconds <= 0:
        raise ValueError("no such counters")
    written, card = sectors_written * SECTOR_BYTES, sectors * SECTOR_BYTES
    is_rate = up_seconds >= SECONDS_BEFORE_A_RATE
    a_day = round(written / up_seconds * 86_400) if is_rate else None
    years = card * ERASURES / AMPLIFICATION / a_day / 365.25 if a_day else None
    return Wear(
        written_bytes=written,
        up_seconds=up_seconds,
        card_bytes=card,
        bytes_a_day=a_day,
        life_years=years,
        assumption=f"An estimate, not a promise: from the card's {bytes_of(card)}, blocks that can "
        f"be erased {ERASURES} times, {AMPLIFICATION} bytes written inside the card for each "
        "byte that it is given, and days like those since the start",
    )


def years_of(years: float) -> str:
    """Format a number of years as ``about 7 years``, or as ``about 4 months`` for 0.33."""
    if years > YEARS_SHOWN_MAX:
        return f"more than {YEARS_SHOWN_MAX:.0f} years"
    if years < 1 / 12:
        return "less than a month"
    if years < 2:
        months = round(years * 12)
        return f"about {months} month{'s' if months > 1 else ''}"
    return f"about {years:.0f} years"
