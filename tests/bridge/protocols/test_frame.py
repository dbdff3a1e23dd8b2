"""Frames, their contents, and the counts of everything that is not a frame."""

import pytest
from firmware_bridge.protocols.frame import Damaged, Frame, checked_text, checked_time
from firmware_bridge.readings.measurement import Measurement


def test_ages_are_no_part_of_a_frames_contents_and_times_of_day_are() -> None:
    def digest(seconds: float | None, value: float = 21.5) -> bytes:
        return Frame({"t": [Measurement("t", value, "Cel", seconds)]}).contents_digest()

    assert digest(None) == digest(-0.25) == digest(-3600.0)
    assert digest(1.7e9) != digest(1.7e9 + 1) != digest(None)
    assert digest(None, 21.5) != digest(None, 21.6)
    assert digest(None, 1) != digest(None, True)


@pytest.mark.parametrize("seconds", [-(2.0**28), 253_402_300_800.0, float("nan")])
def test_a_time_that_no_calendar_has_is_damage(seconds: float) -> None:
    with pytest.raises(Damaged, match="time"):
        checked_time(seconds)
    assert checked_time(-(2.0**28) + 1) == -(2.0**28) + 1


@pytest.mark.parametrize("text", ["\ud83d", "a\udc00"])
def test_half_a_character_is_damage_and_a_whole_one_is_text(text: str) -> None:
    with pytest.raises(Damaged, match="text"):
        checked_text(text)
    assert checked_text("\U0001f600") == "\U0001f600"
