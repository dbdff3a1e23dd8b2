"""Values of keys in the forms in which people write them."""

from typing import Any

import pytest
from pydantic_core import PydanticCustomError

from gateway.process.declarations.quantities import (
    Duration,
    Factor,
    Number,
    Quantity,
    Size,
    Text,
    Whole,
    is_never,
)


@pytest.mark.parametrize(
    ("quantity", "written", "value", "shown"),
    [
        (Duration(0, 86400), "1500ms", 1.5, "1.5s"),
        (Duration(0, 86400), "2 h", 7200.0, "7200s"),
        (Duration(0, 86400), "50ms", 0.05, "50ms"),
        (Duration(0, 86400, never=True), "never", None, "never"),
        (Size(0, 1 << 40), "1.5MiB", 1_572_864, "1536KiB"),
        (Size(0, 1 << 40), "8MB", 8_000_000, "8000000B"),
        (Whole(1, 9), 9, 9, "9"),
        (Text("a+", "some a"), "aaa", "aaa", "aaa"),
        (Number(), 0.1, 0.1, "0.1"),
        (Factor(), -0.1, -0.1, "-0.1"),
        (Number(minimum=0), 2, 2, "2"),
    ],
)
def test_a_value_is_converted_and_shown_as_it_may_be_written(
    quantity: Quantity, written: object, value: Any, shown: str
) -> None:
    assert quantity.value_of(written) == value
    assert quantity.text_of(value) == shown


@pytest.mark.parametrize(
    ("quantity", "written"),
    [
        (Duration(1, 60), 30),
        (Duration(1, 60), "30"),
        (Duration(1, 60), "61s"),
        (Duration(1, 60), "never"),
        (Size(0, 100), "0.5B"),
        (Size(0, 100), "101B"),
        (Whole(1, 9), True),
        (Whole(1, 9), 10),
        (Whole(1, 9), 1.0),
        (Text("a+", "some a"), "aab"),
        (Number(), True),
        (Number(), "1"),
        (Number(), float("nan")),
        (Number(10), -11),
        (Number(minimum=0), -0.5),
        (Factor(), 0),
        (Factor(), "1"),
        (Text("a+", "some a"), None),
    ],
)
def test_any_other_is_refused_with_what_is_allowed(quantity: Quantity, written: object) -> None:
    with pytest.raises(PydanticCustomError) as refusal:
        quantity.value_of(written)
    assert str(refusal.value) == quantity.allowed  # type: ignore[attr-defined]


def test_never_is_a_duration_only_where_it_is_allowed() -> None:
    assert is_never(Duration(0, 1, never=True))
    assert not is_never(Duration(0, 1))
    assert not is_never(Whole(0, 1))
