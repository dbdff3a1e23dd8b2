"""Lines of `key=value` pairs."""

from typing import Any

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.key_value import read_pairs


def values(line: str) -> dict[str, Any]:
    return {name: found.value for name, found in read_pairs(line).items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "temperature=21.5 count=-3;door=open, fault=true gone=",
            {"temperature": 21.5, "count": -3, "door": "open", "fault": True},
        ),
        ("a=1e3", {"a": 1000.0}),
        ("a=nan b=1_000", {"a": "nan", "b": "1_000"}),
        ("a==", {"a": "="}),
    ],
)
def test_a_line_becomes_its_measurements(line: str, expected: dict[str, Any]) -> None:
    assert values(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "syntax"),
        ("a=1 b", "syntax"),
        ("#=1", "name"),
        ("a=1 a=2", "name"),
        (" ".join(f"a{n}=1" for n in range(65)), "overlong"),
    ],
)
def test_a_line_against_the_form_is_damage_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        values(line)
    assert damage.value.reason == reason
