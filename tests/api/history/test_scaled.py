"""Values in the history's files: exact, with few bytes where they have few decimals."""

import zlib
from array import array
from math import inf, isnan, nan
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from api.history.scaled import COLUMNS, DECIMALS_MAX, columns_in, packed

DECIMAL = st.builds(
    lambda number, decimals: number / 10**decimals,
    # With six decimals, and two more of the mean, larger ones are not exact as float64.
    st.integers(-90_000_000, 90_000_000),
    st.integers(0, DECIMALS_MAX),
)
ANY = st.floats(-(2.0**90), 2.0**90, width=64)


def columns_of(values: list[float]) -> list["array[float]"]:
    return [array("d", values) for _ in range(COLUMNS)]


@given(st.lists(st.one_of(DECIMAL, st.just(nan)), min_size=1, max_size=30))
def test_values_with_few_decimals_are_integers_and_exact(values: list[float]) -> None:
    decimals, raw = packed(columns_of(values))
    assert decimals is not None
    assert list(map(repr, columns_in(raw, len(values), decimals)[0])) == [
        repr(value + 0.0) for value in values
    ]


@given(st.lists(st.one_of(ANY, st.just(nan)), min_size=1, max_size=30))
def test_all_other_values_are_exact_too(values: list[float]) -> None:
    decimals, raw = packed(columns_of(values))
    for index in (0, 2, 3):
        found = columns_in(raw, len(values), decimals)[index]
        assert all(a == b or (isnan(a) and isnan(b)) for a, b in zip(found, values, strict=True))


def test_a_mean_has_two_more_decimals_than_the_values() -> None:
    columns = columns_of([21.5, nan])
    columns[1] = array("d", [21.51234, nan])
    decimals, raw = packed(columns)
    assert decimals == 1
    assert columns_in(raw, 2, decimals)[1][0] == 21.512


def test_infinite_and_long_numbers_are_float64() -> None:
    for value in (inf, -inf, 1 / 3, 2.0**52, 1e300):
        decimals, raw = packed(columns_of([value]))
        assert decimals is None
        assert columns_in(raw, 1, None)[3][0] == value


def test_values_of_a_sensor_take_half_of_the_bytes_of_float64() -> None:
    chance = Random(7)  # noqa: S311 - noise
    columns = [
        array("d", [round(20 + chance.random(), 2) for _ in range(1000)]) for _ in range(COLUMNS)
    ]
    decimals, raw = packed(columns)
    assert decimals == 2
    as_float64 = b"".join(column.tobytes() for column in columns)
    assert bytes_of(raw) < bytes_of(as_float64) / 2


def bytes_of(raw: bytes) -> int:
    """Return the compressed size of values in the form of a chunk."""
    return len(zlib.compress(b"".join(raw[byte::8] for byte in range(8)), 9))
