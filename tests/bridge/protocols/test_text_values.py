"""Values in lines of text: what is a number, and which numbers are readings."""

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.text_values import in_range, measurements_of, value_of
from firmware_bridge.readings.measurement import MEASUREMENTS_MAX


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("21.5", 21.5),
        ("-3", -3),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("true", True),
        ("True", "True"),
        ("nan", "nan"),
        ("1_000", "1_000"),
        ("\u0661", "\u0661"),
        ("", None),
    ],
)
def test_what_looks_like_a_number_is_one(text: str, value: object) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("number", [2**63, -(2**63), float("inf"), float("nan")])
def test_a_number_that_is_no_reading_is_damage(number: float) -> None:
    with pytest.raises(Damaged, match="value"):
        in_range(number)
    assert in_range(2**63 - 1) == 2**63 - 1


def test_a_line_has_so_many_measurements_at_the_most() -> None:
    pairs = [(f"a{number}", number) for number in range(MEASUREMENTS_MAX)]
    assert len(measurements_of(pairs)) == MEASUREMENTS_MAX
    with pytest.raises(Damaged, match="overlong"):
        measurements_of([*pairs, ("one", 1)])
