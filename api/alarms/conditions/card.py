"""Alarm conditions of the SD card: an unreadable report, a failed update or setup, and wear.

This module does no I/O.
"""

from collections.abc import Iterator
from typing import Final

from api.alarms.conditions.condition import Condition, Level
from api.alarms.conditions.thresholds import Thresholds
from api.status.card import CardFacts, CardReport
from api.status.wear import Wear

UPDATE_NEEDS_ATTENTION: Final = frozenset({"failed", "returned", "interrupted", "unhealthy"})
"""States of an update that was requested and did not succeed."""


def conditions_of_card(card: CardReport, thresholds: Thresholds) -> Iterator[Condition]:
    """Yield the alarm conditions of the SD card that are true now."""
    if card.problem is not None:
        yield Condition("card_report", "card", Level.ATTENTION, f"{card.problem}.")
    if card.facts is not None:
        yield from _facts_conditions(card.facts)
    if card.wear is not None:
        yield from _wear_conditions(card.wear, thresholds)


def _facts_conditions(facts: CardFacts) -> Iterator[Condition]:
    update, provisioning = facts.update, facts.provisioning
    if facts.note:
        yield Condition("update_record", "card", Level.ATTENTION, f"{facts.note}.")
    if update is not None and update.state != "kept":
        level = Level.ATTENTION if update.state in UPDATE_NEEDS_ATTENTION else Level.INFORMATION
        advice = f"{update.advice}." if update.advice else ""
        yield Condition("update", f"slot {update.slot}", level, f"{update.sentence}.", advice)
    if provisioning is not None and not provisioning.taken:
        # The first line contains the result, the second the mistake.
        yield Condition(
            "provisioning", "gateway.toml", Level.ATTENTION, " ".join(provisioning.lines[:2])
        )


def _wear_conditions(wear: Wear, thresholds: Thresholds) -> Iterator[Condition]:
    if wear.life_years is not None and wear.life_years < thresholds.card_life_years:
        yield Condition(
            "card_wear", "card", Level.ATTENTION,
            f"At today's rate of writes the card lasts about {wear.life_years:.1f} years.",
            "See what writes, or use an endurance card; [alarms] card_life sets when "
            "this is shown.",
        )  # fmt: skip
