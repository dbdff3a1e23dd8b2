"""Levels of certificate alarms by the number of days until expiry."""

import pytest

from api.alarms.conditions.certificate_levels import level_of_certificate
from api.alarms.conditions.condition import Level


@pytest.mark.parametrize(
    ("days_left", "is_unused", "level"),
    [
        (29, False, Level.INFORMATION),
        (29, True, Level.ATTENTION),
        (90, True, Level.ATTENTION),
        (7, False, Level.INFORMATION),
        (6, False, Level.ATTENTION),
        (1, False, Level.ATTENTION),
        (0, False, Level.BAD),
        (0, True, Level.BAD),
        (-3, False, Level.BAD),
    ],
)
def test_the_level_rises_with_the_end(days_left: int, is_unused: bool, level: Level) -> None:
    assert level_of_certificate(days_left, is_unused=is_unused) is level
