"""Pages of long lists."""

from collections.abc import Iterable
from heapq import nsmallest

from gateway.broker.server.control.long_lists import first_in_slices, fitting


async def test_a_page_chosen_in_slices_is_the_page_of_all() -> None:
    def first_of(numbers: Iterable[int]) -> list[int]:
        return nsmallest(3, numbers)

    numbers = [7, 3, 9, 1, 8, 2, 6]
    for slice_items in (1, 2, 100):
        assert await first_in_slices(numbers, first_of, slice_items) == [1, 2, 3]
    assert await first_in_slices([], first_of, 1) == []


def test_objects_are_cut_to_a_size_and_the_first_always_fits() -> None:
    one = {"topic": "a" * 50}
    assert fitting([one] * 5, 150) == [one] * 2
    assert fitting([one, one], 10) == [one]
    assert fitting([], 10) == []
