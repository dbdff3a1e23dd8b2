"""Conditions that must last before they count."""

from api.alarms.condition import Condition, Level
from api.alarms.patience import Patience

CLOCK = Condition("clock_unsynchronised", "clock", Level.ATTENTION, "It is not synchronised.")
LOST = Condition("port_lost", "port gps", Level.ATTENTION, "It is lost.")


def test_a_condition_counts_when_it_has_lasted() -> None:
    patience = Patience({CLOCK.id: 600.0})
    assert patience.lasting([CLOCK, LOST], now=100.0) == [LOST]
    assert patience.lasting([CLOCK, LOST], now=699.9) == [LOST]
    assert patience.lasting([CLOCK, LOST], now=700.0) == [CLOCK, LOST]


def test_an_interruption_starts_the_time_again() -> None:
    patience = Patience({CLOCK.id: 600.0})
    patience.lasting([CLOCK], now=0.0)
    patience.lasting([], now=300.0)
    assert patience.lasting([CLOCK], now=601.0) == []
