"""Settings of a serial line."""

import re

import pytest
from pydantic_core import PydanticCustomError

from gateway.process.declarations.serial_line import Line, LineText


@pytest.mark.parametrize("text", ["9600 7E1", "115200 8N1", "2400 8O2", "50 8N1", "4000000 8N1"])
def test_a_line_is_read_and_written_alike(text: str) -> None:
    assert str(LineText().value_of(text)) == text
    assert re.search(LineText().schema()["pattern"], text)


@pytest.mark.parametrize(
    "text", ["8N1", "9600 8n1", "9600  8N1", "9600 5N1", "9600 8N3", "49 8N1", "4000001 8N1", 9600]
)
def test_any_other_is_refused_with_what_is_allowed(text: object) -> None:
    with pytest.raises(PydanticCustomError, match="a rate from 50 to 4000000"):
        LineText().value_of(text)


def test_without_settings_a_line_is_that_of_the_boards() -> None:
    assert str(Line()) == "115200 8N1"
