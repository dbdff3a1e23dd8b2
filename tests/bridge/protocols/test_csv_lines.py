"""Lines of comma-separated values, and the columns that name the values."""

from collections import Counter
from typing import Any

import pytest
from firmware_bridge.protocols.csv_lines import CellReader, CsvLines
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.readings.kinds import Kind, Kinds
from pydantic_core import PydanticCustomError

COLUMNS = ("temperature", "_", "door")


def values(*lines: str, types: dict[str, Kind] | None = None) -> dict[str, Any]:
    """Decode lines and return the values of the last line."""
    reader = CellReader(COLUMNS, Kinds(types))
    *_, found = (reader.read(line, Counter()) for line in lines)
    return {name: each.value for name, each in found.items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('21.5,7,"half, open"', {"temperature": 21.5, "door": "half, open"}),
        (" 21.5 , 7 ,", {"temperature": 21.5}),
        ("21.5,7,zu\u00fc", {"temperature": 21.5, "door": "zu\u00fc"}),
        ("temperature,_,door", {}),
        ('"21,5",7,nan', {"temperature": 21.5}),
        ("--,7,", {}),
        ("21,5;7;open", {"temperature": 21.5, "door": "open"}),
        ("21.5\t7\topen", {"temperature": 21.5, "door": "open"}),
        ("21.5,7,open,", {"temperature": 21.5, "door": "open"}),
        ("21.5,7,half; open", {"temperature": 21.5, "door": "half; open"}),
        ('"21.5",7,"half; open"', {"temperature": 21.5, "door": "half; open"}),
        ('"21.5","7","half\topen"', {"temperature": 21.5, "door": "half\topen"}),
        ('"21,5";7;"half, open"', {"temperature": 21.5, "door": "half, open"}),
        ('21.5;7;"half\topen"', {"temperature": 21.5, "door": "half\topen"}),
        ("21.5C,7,open", {"temperature": 21.5, "door": "open"}),
        ("21.5   -7  1", {"temperature": 21.5, "door": 1}),
        ("21.5|7|--", {"temperature": 21.5}),
        ("21,5 | 7 | 1", {"temperature": 21.5, "door": 1}),
        ("<21.5,7,open>", {"temperature": 21.5, "door": "open"}),
        ("{21.5;7;open}", {"temperature": 21.5, "door": "open"}),
        ("$21.5,7,open#", {"temperature": 21.5, "door": "open"}),
        ("+  123.45 g,7,open", {"temperature": 123.45, "door": "open"}),
    ],
)
def test_a_line_becomes_its_measurements(line: str, expected: dict[str, Any]) -> None:
    assert values(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,2", "columns"),
        ("boot 3 times", "columns"),
        ("1 2 3 4", "columns"),
        ("<a>,<b>", "columns"),
        ("1,2,3,4", "columns"),
        ('1,2,"3', "syntax"),
        ("rst:0x1,boot:0x13,fast", "type"),
        ("Temp (C),n,Door", "type"),
        ("1e999,2,3", "value"),
    ],
)
def test_a_line_against_the_form_is_damage_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        values(line)
    assert damage.value.reason == reason


@pytest.mark.parametrize("odd", ["ERR,7,true", "21.5,7,open", "21.5,7,2"])
def test_a_line_in_which_a_declared_column_is_of_another_type_is_damage(odd: str) -> None:
    types: dict[str, Kind] = {"temperature": "number", "door": "boolean"}
    assert values("21.5,7,1", types=types) == {"temperature": 21.5, "door": True}
    with pytest.raises(Damaged, match="type"):
        values(odd, types=types)


def test_a_column_keeps_the_type_of_its_first_value() -> None:
    with pytest.raises(Damaged, match="type"):
        values("21.5,7,open", "ERR,7,open")
    assert values("21.5,7,open", "22,7,1") == {"temperature": 22, "door": "1"}
    assert values("21.5,7,true", "22,7,0") == {"temperature": 22, "door": False}


def test_lines_of_texts_alone_are_read_where_they_are_declared() -> None:
    types: dict[str, Kind] = {"temperature": "text", "door": "text"}
    assert values("21.5,7,open", types=types) == {"temperature": "21.5", "door": "open"}
    assert values("warm,7,open", types=types) == {"temperature": "warm", "door": "open"}


def test_types_name_columns_that_exist() -> None:
    CsvLines(columns=("a", "_"), types={"a": "text"}).check()
    with pytest.raises(PydanticCustomError, match="one of a in place of b in types"):
        CsvLines(columns=("a", "_"), types={"b": "text"}).check()


def test_a_column_may_be_left_out_more_than_once_and_named_once() -> None:
    CsvLines(columns=("_", "a", "_")).check()
    with pytest.raises(PydanticCustomError, match='"a" once in columns'):
        CsvLines(columns=("a", "_", "a")).check()
