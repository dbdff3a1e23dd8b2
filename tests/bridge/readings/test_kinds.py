"""A quantity keeps its kind: number, string or Boolean."""

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.text_values import converted
from firmware_bridge.readings.kinds import KINDS_KEPT_MAX, Kind, Kinds
from firmware_bridge.readings.measurement import Measurement, Value


def test_the_first_value_decides_and_others_are_removed() -> None:
    kinds = Kinds()
    quantities = {
        "a": [Measurement("a/x", 1), Measurement("a/y", "open")],
        "b": [Measurement("b", 1)],
    }
    assert kinds.keep(quantities) == 0
    quantities = {
        "a": [Measurement("a/x", "no"), Measurement("a/y", "shut")],
        "b": [Measurement("b", True)],
    }
    assert kinds.keep(quantities) == 2
    assert quantities == {"a": [Measurement("a/y", "shut")]}


def test_what_is_remembered_changes_no_declared_kind() -> None:
    kinds = Kinds({"declared": "text"})
    kinds.remember({"declared": "number", "seen": "number"})
    assert kinds.known() == {"declared": "text", "seen": "number"}


def test_no_more_names_are_remembered_than_the_bound() -> None:
    kinds = Kinds()
    for number in range(KINDS_KEPT_MAX + 1):
        kinds.note(str(number), 1)
    assert kinds.of(str(KINDS_KEPT_MAX - 1)) == "number"
    assert kinds.of(str(KINDS_KEPT_MAX)) is None
    quantities = {"new": [Measurement("new", "text")]}
    assert kinds.keep(quantities) == 0


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [(True, "number", 1), (0, "boolean", False), (1.5, "text", "1.5"), (False, "text", "false"),
     (3, None, 3)],
)  # fmt: skip
def test_a_value_is_converted_where_nothing_is_lost(
    value: Value, kind: Kind | None, expected: Value
) -> None:
    found = converted(value, kind)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(("value", "kind"), [(2, "boolean"), ("x", "number")])
def test_other_values_are_refused(value: Value, kind: Kind) -> None:
    with pytest.raises(Damaged, match="type"):
        converted(value, kind)
