"""Copies of a message are assigned to the subscriptions that they may have come through."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tests.instruments.simulation.groups import Source, all_fit

SOURCES: tuple[Source, ...] = (("group", "g"), ("group", "h"), ("client", "a"), ("client", "b"))


@given(
    st.lists(st.lists(st.sampled_from(SOURCES), max_size=3, unique=True), max_size=5),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_copies_fit_exactly_where_some_way_to_deal_them_out_does(
    copies: list[list[Source]], rooms: list[int]
) -> None:
    room = dict(zip(SOURCES, rooms, strict=True))
    some_way = any(
        all(way.count(source) <= room[source] for source in SOURCES) for way in product(*copies)
    )
    assert all_fit(copies, room) == some_way
