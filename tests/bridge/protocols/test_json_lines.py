"""Lines that are JSON objects."""

from typing import Any

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.json_lines import read_json


def values(line: str) -> dict[str, Any]:
    return {name: found.value for name, found in read_json(line).items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"temperature":21.5,"count":3,"door":"open","fault":false,"gone":null}',
            {"temperature": 21.5, "count": 3, "door": "open", "fault": False},
        ),
        ("{}", {}),
        ('{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
    ],
)
def test_a_line_becomes_its_measurements(line: str, expected: dict[str, Any]) -> None:
    assert values(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"a":1', "syntax"),
        ("[1]", "syntax"),
        ('"a"', "syntax"),
        ("[" * 4000, "syntax"),
        ('{"a":{"b":1}}', "value"),
        ('{"a":NaN}', "value"),
        ('{"a":' + "9" * 40 + "}", "value"),
        ('{"a":' + "9" * 4090 + "}", "value"),
        ('{"a":"\\ud83d"}', "text"),
        ('{"a":"\\udc00\\ud800"}', "text"),
        ('{"\\ud800":1}', "name"),
        ('{"a/b":1}', "name"),
        ('{"a":1,"a":2}', "name"),
        ('{"":1}', "name"),
    ],
)
def test_a_line_against_the_form_is_damage_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        values(line)
    assert damage.value.reason == reason
