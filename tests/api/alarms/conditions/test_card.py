"""Conditions of the SD card. See tests/api/status/test_card.py for its report on the page."""

import pytest

from api.alarms.conditions.card import conditions_of_card
from api.alarms.conditions.thresholds import Thresholds
from api.status.card import CardReport
from api.status.wear import wear_of


@pytest.mark.parametrize(
    ("sectors_a_day", "identifiers"), [(1_000_000, []), (20_000_000, ["card_wear"])]
)
def test_a_card_that_wears_out_soon_is_a_condition(
    sectors_a_day: int, identifiers: list[str]
) -> None:
    wear = wear_of(sectors_written=sectors_a_day, sectors=31_116_288, up_seconds=86_400)
    card = CardReport(problem=None, facts=None, wear=wear)
    assert [each.id for each in conditions_of_card(card, Thresholds())] == identifiers


def test_a_report_that_cannot_be_read_is_a_condition() -> None:
    card = CardReport(problem="It is not JSON", facts=None, wear=None)
    [condition] = conditions_of_card(card, Thresholds())
    assert condition.sentence == "It is not JSON."
