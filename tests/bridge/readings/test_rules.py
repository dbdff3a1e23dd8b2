"""Rules for quantities: scaling, and values that are not published."""

from typing import Any

import pytest
from firmware_bridge.readings import rules as module
from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.rules import Rules

from gateway.process.declarations.readings import QuantityRule, Readings


def rules_of(**keys: Any) -> Rules:
    return Rules(Readings(quantities=(QuantityRule(name="a", **keys),)))


def of(value: Value) -> Quantities:
    return {"a": [Measurement("a", value, "raw")]}


def published(rules: Rules, *steps: tuple[float, Value], device: str = "d") -> list[Value]:
    """Apply the rules to values at the given times, and return the published values."""
    found: list[Value] = []
    for now, value in steps:
        due = rules.due(device, of(value), now)
        rules.note_published(device, due, now)
        found += [each.value for (each,) in due.values()]
    return found


def test_a_number_is_scaled_and_has_the_rule_s_unit_and_a_text_stays() -> None:
    rules = rules_of(scale=0.1, offset=-40, unit="Cel")
    assert rules.scaled(of(615)) == ({"a": [Measurement("a", 21.5, "Cel")]}, 0)
    assert rules.scaled(of("open")) == ({"a": [Measurement("a", "open", "Cel")]}, 0)
    other: Quantities = {"b": [Measurement("b", 1, "raw")]}
    assert rules.scaled(other) == (other, 0)


def test_what_is_out_of_range_when_it_is_scaled_is_left_out_and_counted() -> None:
    assert rules_of(scale=4).scaled({**of(2**62), "b": []}) == ({"b": []}, 1)


@pytest.mark.parametrize(
    ("keys", "steps", "expected"),
    [
        ({"on_change": True}, [(0, 1), (1, 1), (2, 2), (3, 2), (4, "x"), (5, 2)], [1, 2, "x", 2]),
        ({"on_change": True}, [(0, True), (1, 1), (2, 1.0)], [True, 1]),
        ({"deadband": 0.5}, [(0, 1), (1, 1.4), (2, 1.5), (3, 1.1), (4, 1.0)], [1, 1.5, 1.0]),
        ({"minimum_interval": 10.0}, [(0, 1), (9, 2), (10, 3), (19, 4), (20, 5)], [1, 3, 5]),
        ({"minimum_interval": 10.0, "on_change": True}, [(0, 1), (5, 2), (10, 1), (11, 2)], [1, 2]),
        ({}, [(0, 1), (0, 1)], [1, 1]),
    ],
)
def test_what_is_not_due_is_left_out(
    keys: dict[str, Any], steps: list[tuple[float, Value]], expected: list[Value]
) -> None:
    assert published(rules_of(**keys), *steps) == expected


def gga(time: str, alt: float, satellites: int = 8) -> Quantities:
    """Return the fields of a GGA sentence with a constant latitude."""
    return {
        "gga": [
            Measurement("gga/sentence", f"GPGGA,{time},{alt}"),
            Measurement("gga/time", time),
            Measurement("gga/lat", 52.5, "lat"),
            Measurement("gga/numSV", satellites, "count"),
            Measurement("gga/alt", alt, "m"),
        ]
    }


def sentences(*rules: QuantityRule, payload: Any = "senml") -> Rules:
    return Rules(Readings(payload=payload, quantities=rules))


def test_one_value_of_a_sentence_is_scaled_and_no_other() -> None:
    rules = sentences(QuantityRule(name="gga/alt", scale=0.001, unit="km"))
    kept, out_of_range = rules.scaled(gga("120000", 35.5))
    assert out_of_range == 0
    assert kept["gga"][:-1] == gga("120000", 35.5)["gga"][:-1]
    assert kept["gga"][-1] == Measurement("gga/alt", 0.0355, "km")


def test_a_value_out_of_range_leaves_the_others_of_its_sentence() -> None:
    rules = sentences(QuantityRule(name="gga/numSV", scale=4))
    kept, out_of_range = rules.scaled(gga("120000", 35.5, 2**62))
    assert [each.name for each in kept["gga"]] == [
        "gga/sentence", "gga/time", "gga/lat", "gga/alt",
    ]  # fmt: skip
    assert out_of_range == 1


@pytest.mark.parametrize(
    ("payload", "expected"), [("senml", [5, 0, 5]), ("value", [5, 4, 5]), ("json", [5, 4, 5])]
)
def test_a_pack_is_whole_and_single_values_are_left_out_by_themselves(
    payload: str, expected: list[int]
) -> None:
    rules = sentences(QuantityRule(name="gga/alt", deadband=1), payload=payload)
    found = []
    for second, alt in enumerate((35.5, 36.0, 36.5)):
        due = rules.due("gps", gga(f"12000{second}", alt), second)
        rules.note_published("gps", due, second)
        found.append(sum(len(each) for each in due.values()))
    assert found == expected


def test_a_rule_of_a_whole_sentence_and_one_of_its_values_hold_together() -> None:
    rules = sentences(
        QuantityRule(name="gga", minimum_interval=10), QuantityRule(name="gga/alt", on_change=True)
    )
    found = []
    for second, alt in ((0, 1.0), (5, 2.0), (10, 2.0), (11, 1.0), (12, 2.0), (25, 3.0)):
        due = rules.due("gps", gga(f"{second}", alt), second)
        rules.note_published("gps", due, second)
        found.append(bool(due))
    assert found == [True, False, True, False, False, True]


def test_each_device_has_its_own_last_value() -> None:
    rules = rules_of(on_change=True)
    assert published(rules, (0, 1), device="d") == [1]
    assert published(rules, (0, 1), device="e") == [1]


def test_a_value_that_was_not_taken_is_due_again() -> None:
    rules = rules_of(on_change=True)
    assert rules.due("d", of(1), 0) == rules.due("d", of(1), 1) == of(1)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PUBLISHED_KEPT_MAX", 2)
    rules = rules_of(on_change=True)
    for device in ("c", "d", "e"):
        published(rules, (0, 1), device=device)
    assert published(rules, (1, 1), device="e") == []
    assert published(rules, (1, 1), device="c") == [1]
