"""The memory of a string, as the limits estimate it."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.memory import text_bytes_of

HEADER_BYTES = 80
"""Memory of a string besides its characters, at most."""


@given(st.text(), st.integers(1, 200))
def test_a_text_takes_no_more_memory_than_is_counted(text: str, times: int) -> None:
    made = text * times
    assert sys.getsizeof(made) <= HEADER_BYTES + text_bytes_of(made)


def test_one_character_beyond_ascii_makes_all_of_them_wide() -> None:
    assert text_bytes_of("a" * 100) == 100
    assert text_bytes_of("a" * 99 + "\N{GRINNING FACE}") == 400
