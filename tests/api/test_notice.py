"""Notices in the order in which a page shows them."""

from api.notice import Level


def test_levels_are_ordered_by_how_bad_they_are() -> None:
    assert sorted(Level, reverse=True) == [
        Level.BAD,
        Level.ATTENTION,
        Level.INFORMATION,
        Level.GOOD,
    ]
