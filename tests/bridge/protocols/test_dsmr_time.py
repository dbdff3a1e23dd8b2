"""Times of meters, with and without the letter for summer or winter time."""

import contextlib
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from firmware_bridge.protocols.dsmr_time import is_time, seconds_of
from firmware_bridge.protocols.frame import Damaged
from hypothesis import given
from hypothesis import strategies as st

AMSTERDAM = ZoneInfo("Europe/Amsterdam")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("170702161005S", 1499004605.0),
        ("170102161005W", 1483369805.0),
        ("170102161005", 1483369805.0),
        ("170702161005", 1499004605.0),
        ("1701021610", 1483369800.0),
        ("700101000000W", -3600.0),
        ("690101000000W", 3124220400.0),
        ("1261127120000", 1795773600.0),
        ("0261127120000", 1795777200.0),
        ("2261127120000", 1795780800.0),
        ("12611271200", 1795773600.0),
        ("261025023000S", 1792888200.0),
        ("261025023000W", 1792891800.0),
        ("261025023000", 1792891800.0),
    ],
)
def test_a_time_becomes_seconds_since_1970(text: str, seconds: float) -> None:
    assert is_time(text)
    assert seconds_of(text, 1) == seconds


@given(st.datetimes(datetime(2000, 1, 1), datetime(2069, 12, 31)))  # noqa: DTZ001 - local times
def test_a_time_without_a_letter_is_the_one_that_a_clock_on_the_wall_shows(local: datetime) -> None:
    local = local.replace(microsecond=0, tzinfo=AMSTERDAM, fold=1)
    is_real = datetime.fromtimestamp(local.timestamp(), AMSTERDAM).hour == local.hour
    if is_real:  # Not in the hour that is skipped in March.
        assert seconds_of(f"{local:%y%m%d%H%M%S}", 1) == local.timestamp()


@pytest.mark.parametrize("text", ["632525252525S", "000000000000W", "261301000000"])
def test_a_time_of_no_calendar_is_damage(text: str) -> None:
    assert is_time(text)
    with pytest.raises(Damaged, match="time"):
        seconds_of(text, 1)


@pytest.mark.parametrize(
    "text", ["", "13", "3261127120000", "17010216100S", "170102161005X", "00001.001"]
)
def test_other_texts_are_no_times(text: str) -> None:
    assert not is_time(text)
    with pytest.raises(Damaged, match="time"):
        seconds_of(text, 1)


@given(st.text("0123456789SWZ-: x", max_size=20))
def test_no_text_raises_anything_else(text: str) -> None:
    with contextlib.suppress(Damaged):
        seconds_of(text, 1)
