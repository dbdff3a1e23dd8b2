"""The table of alarms: raised, ended, cleared, acknowledged."""

from dataclasses import replace

import pytest

from api.alarms.alarm import Alarm, Key
from api.alarms.conditions.condition import Condition, Level
from api.alarms.table import ALARMS_MAX, CLEAR_SECONDS, AlarmTable

LOST = Condition("port_lost", "port gps", Level.ATTENTION, "It is lost.", "Check the plug.")
DROPPED = Condition("messages_dropped", "client c", Level.ATTENTION, "3 were dropped.")
NOTE = Condition("program_absent", "uploader", Level.INFORMATION, "It has not reported.")


class Life:
    """A table of alarms whose monotonic clock and wall clock advance together."""

    def __init__(self) -> None:
        self.table = AlarmTable()
        self.now = 0.0

    def pass_time(self, seconds: float, *conditions: Condition) -> list[Alarm]:
        self.now += seconds
        return self.table.update(conditions, now=self.now, now_ms=int(self.now * 1000))

    def acknowledge(self, condition: Condition) -> Alarm | None:
        key = Key(condition.id, condition.subject)
        return self.table.acknowledge(key, by="ben", now_ms=int(self.now * 1000))


@pytest.fixture
def life() -> Life:
    return Life()


def test_an_alarm_is_raised_once_and_has_the_time_of_its_beginning(life: Life) -> None:
    [raised] = life.pass_time(1, LOST)
    assert (raised.since_ms, raised.condition) == (1000, LOST)
    assert life.pass_time(1, LOST) == []
    assert life.table.active() == [raised]


def test_an_alarm_that_flickers_is_one_alarm(life: Life) -> None:
    life.pass_time(0, LOST)
    for _ in range(5):
        assert life.pass_time(CLEAR_SECONDS - 1) == []
        assert life.pass_time(1, LOST) == []
    assert [alarm.since_ms for alarm in life.table.active()] == [0]


def test_an_alarm_is_cleared_when_its_condition_has_been_absent_long_enough(life: Life) -> None:
    life.pass_time(0, LOST)
    life.pass_time(5)
    [cleared] = life.pass_time(CLEAR_SECONDS)
    assert cleared.cleared_ms == cleared.ended_ms == int((5 + CLEAR_SECONDS) * 1000)
    assert life.table.active() == []


def test_a_loss_stays_until_it_is_acknowledged(life: Life) -> None:
    life.pass_time(0, DROPPED)
    life.pass_time(1)
    [ended] = life.pass_time(CLEAR_SECONDS)
    assert (ended.is_present, ended.cleared_ms) == (False, None)
    assert life.pass_time(86_400) == []
    cleared = life.acknowledge(DROPPED)
    assert cleared is not None
    assert (cleared.acknowledged_by, cleared.cleared_ms) == ("ben", cleared.acknowledged_ms)
    assert life.table.active() == []


def test_a_loss_that_was_acknowledged_in_time_is_cleared_with_its_condition(life: Life) -> None:
    life.pass_time(0, DROPPED)
    acknowledged = life.acknowledge(DROPPED)
    assert acknowledged is not None
    assert acknowledged.cleared_ms is None
    life.pass_time(1)
    [cleared] = life.pass_time(CLEAR_SECONDS)
    assert cleared.cleared_ms is not None


def test_a_loss_that_comes_again_needs_another_acknowledgement(life: Life) -> None:
    life.pass_time(0, DROPPED)
    life.pass_time(1)
    life.pass_time(CLEAR_SECONDS)
    [back] = life.pass_time(1, DROPPED)
    assert (back.is_present, back.is_acknowledged, back.since_ms) == (True, False, 0)


def test_a_worse_level_is_a_change_and_asks_again(life: Life) -> None:
    life.pass_time(0, LOST)
    life.acknowledge(LOST)
    [worse] = life.pass_time(1, replace(LOST, level=Level.BAD))
    assert (worse.level, worse.is_acknowledged, worse.changed_ms) == (Level.BAD, False, 1000)
    life.acknowledge(LOST)
    [better] = life.pass_time(1, LOST)
    assert better.is_acknowledged


def test_words_that_change_are_kept_without_a_change(life: Life) -> None:
    life.pass_time(0, LOST)
    assert life.pass_time(1, replace(LOST, sentence="Lost for 1 s.")) == []
    assert [alarm.sentence for alarm in life.table.active()] == ["Lost for 1 s."]


def test_severe_alarms_come_first_and_ended_ones_last(life: Life) -> None:
    life.pass_time(0, DROPPED, NOTE)
    life.pass_time(1, NOTE)
    life.pass_time(CLEAR_SECONDS, NOTE, LOST)
    assert [alarm.id for alarm in life.table.active()] == [
        "port_lost",
        "program_absent",
        "messages_dropped",
    ]


def test_alarms_beyond_the_limit_are_counted(life: Life) -> None:
    many = [replace(LOST, subject=f"port {number}") for number in range(ALARMS_MAX + 3)]
    assert len(life.pass_time(0, *many)) == ALARMS_MAX
    assert life.table.not_listed == 3
    life.pass_time(1, LOST)
    assert life.table.not_listed == 1


def test_an_alarm_that_is_not_active_cannot_be_acknowledged(life: Life) -> None:
    assert life.acknowledge(LOST) is None


def test_a_second_acknowledgement_does_not_replace_the_first(life: Life) -> None:
    life.pass_time(0, LOST)
    first = life.acknowledge(LOST)
    again = life.table.acknowledge(Key(LOST.id, LOST.subject), by="carl", now_ms=99)
    assert again == first


def test_alarms_of_an_earlier_run_continue() -> None:
    life = Life()
    [raised] = life.pass_time(1, LOST)
    table = AlarmTable([raised])
    assert table.update([LOST], now=0.0, now_ms=9_000) == []
    assert table.active() == [raised]
