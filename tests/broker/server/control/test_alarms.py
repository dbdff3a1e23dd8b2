"""Alarms that the page passes through the broker to the bridge."""

import pytest

from gateway.broker.server.control.alarms import ALARMS_BYTES_MAX, Alarms
from gateway.broker.server.control.refused import Refused


def test_the_bridge_receives_alarms_that_it_does_not_have_yet() -> None:
    alarms = Alarms()
    assert alarms.since(None) == {}
    alarms.take({"alarms": {"disk_low": {"level": "warning"}, "port_lost": None}})
    first = alarms.since(None)
    assert first["alarms"] == {"disk_low": {"level": "warning"}, "port_lost": None}
    assert alarms.since(first["alarms_number"]) == {}
    alarms.take({"alarms": first["alarms"]})
    assert alarms.since(first["alarms_number"]) == {}, "the same again"
    alarms.take({"alarms": {"disk_low": None}})
    second = alarms.since(first["alarms_number"])
    assert second["alarms"] == {"disk_low": None}
    assert second["alarms_number"] > first["alarms_number"]


LETTERS = "abcdefghijk"
TOO_MANY = {f"k{first}{second}": None for first in LETTERS for second in LETTERS}


@pytest.mark.parametrize(
    "alarms",
    [
        None,
        [],
        {"Disk": None},
        {"a/b": None},
        {"": None},
        {"a" * 41: None},
        {"disk_low": "full"},
        {"disk_low": {"text": "x" * ALARMS_BYTES_MAX}},
        TOO_MANY,
    ],
)
def test_what_is_no_alarm_is_refused_and_changes_nothing(alarms: object) -> None:
    kept = Alarms()
    kept.take({"alarms": {"disk_low": None}})
    with pytest.raises(Refused):
        kept.take({"alarms": alarms})
    assert kept.since(None)["alarms"] == {"disk_low": None}
