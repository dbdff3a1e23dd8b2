"""Bytes written to the SD card, and an estimate of its remaining life. Pure.

There is no daily figure during the first hour, and each estimate states its assumption.
"""

from typing import Final

from api.models.values import Count, FiniteNumber, Reported, Seconds
from api.wording import bytes_of

SECTOR_BYTES: Final = 512
"""The kernel counts in these, whatever the card's own are."""
SECONDS_BEFORE_A_RATE: Final = 3600.0
"""A start writes more than an hour of quiet work: a rate over less time would describe the
start."""
ERASURES: Final = 500
"""How often a block of a card can be erased. Makers of cards do not say; their flash (TLC, QLC) is
sold with 300 to 3,000, and the cheapest card has the cheapest flash."""
AMPLIFICATION: Final = 10
"""Bytes that a card writes internally for each byte written to it. It moves a whole block of
megabytes for a few kilobytes in the middle of it; a card that appends has 2, a poor one with
scattered writes more than 10."""
YEARS_SHOWN_MAX: Final = 30.0
"""Beyond it other causes end a card's life."""


class Wear(Reported):
    """Writes since the kernel's start; the kernel has no older counts."""

    written_bytes: Count
    up_seconds: Seconds
    card_bytes: Count
    bytes_a_day: Count | None
    """null in the first hour."""
    life_years: FiniteNumber | None
    """An estimate; null while `bytes_a_day` is, and where nothing is written."""
    assumption: str
    """Basis of the estimate."""


def wear_of(*, sectors_written: int, sectors: int, up_seconds: float) -> Wear:
    """Estimate the card's wear from the kernel's counters.

    Raises:
        ValueError: the counters are impossible.
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
    """Format as ``about 4 months`` or ``about 7 years``, no more exactly than an estimate
    allows.
    """
    if years > YEARS_SHOWN_MAX:
        return f"more than {YEARS_SHOWN_MAX:.0f} years"
    if years < 1 / 12:
        return "less than a month"
    if years < 2:
        months = round(years * 12)
        return f"about {months} month{'s' if months > 1 else ''}"
    return f"about {years:.0f} years"
