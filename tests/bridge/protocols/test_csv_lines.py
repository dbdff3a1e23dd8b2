"""Lines of values separated by commas, and the columns that name them."""

from typing import Any

import pytest
from firmware_bridge.protocols.csv_lines import CsvLines, read_cells
from firmware_bridge.protocols.frame import Damaged
from pydantic_core import PydanticCustomError

COLUMNS = ("temperature", "_", "door")


def values(line: str) -> dict[str, Any]:
    return {name: found.value for name, found in read_cells(line, COLUMNS).items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('21.5,7,"half, open"', {"temperature": 21.5, "door": "half, open"}),
        (" 21.5 , 7 ,", {"temperature": 21.5}),
        ("21.5,7,zu\u00fc", {"temperature": 21.5, "door": "zu\u00fc"}),
        ("temperature,_,door", {}),
    ],
)
def test_a_line_becomes_its_measurements(line: str, expected: dict[str, Any]) -> None:
    assert values(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,2", "columns"),
        ("1,2,3,4", "columns"),
        ('1,2,"3', "syntax"),
    ],
)
def test_a_line_against_the_form_is_damage_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        values(line)
    assert damage.value.reason == reason


def test_a_column_may_be_left_out_more_than_once_and_named_once() -> None:
    CsvLines(columns=("_", "a", "_")).check()
    with pytest.raises(PydanticCustomError, match='"a" once in columns'):
        CsvLines(columns=("a", "_", "a")).check()
