"""Alarm conditions: their levels and their text."""

from api.alarms.conditions.condition import Condition, Level


def test_levels_are_ordered_by_how_bad_they_are() -> None:
    assert sorted(Level, reverse=True) == [
        Level.BAD,
        Level.ATTENTION,
        Level.INFORMATION,
        Level.GOOD,
    ]


def test_each_level_has_a_word() -> None:
    assert [level.word for level in Level] == ["ok", "info", "warning", "critical"]


def test_the_text_of_a_condition_is_its_sentence_and_its_fix() -> None:
    assert Condition("update", "A", Level.ATTENTION, "It failed.", "Try again.").text == (
        "It failed. Try again."
    )
    assert Condition("update", "A", Level.ATTENTION, "It failed.").text == "It failed."
