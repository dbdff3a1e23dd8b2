"""What the text formats of lines have in common, whichever their syntax is."""

import contextlib
from collections.abc import Callable

import pytest
from firmware_bridge.protocols.csv_lines import read_cells
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.json_lines import read_json
from firmware_bridge.protocols.key_value import read_pairs
from hypothesis import given
from hypothesis import strategies as st

COLUMNS = ("a", "_", "b")


def read_csv(line: str) -> object:
    return read_cells(line, COLUMNS)


FORMATS = {"csv": read_csv, "json": read_json, "key_value": read_pairs}
each_format = pytest.mark.parametrize("read", FORMATS.values(), ids=FORMATS.keys())


@each_format
@given(line=st.text(max_size=200))
def test_any_text_is_measurements_or_damage(read: Callable[[str], object], line: str) -> None:
    with contextlib.suppress(Damaged):
        read(line)


@pytest.mark.parametrize(
    ("read", "line"),
    [(read_csv, "1e999,2,3"), (read_json, '{"a":1e999}'), (read_pairs, "a=1e9999")],
    ids=FORMATS.keys(),
)
def test_a_number_beyond_a_double_is_damage(read: Callable[[str], object], line: str) -> None:
    with pytest.raises(Damaged) as damage:
        read(line)
    assert damage.value.reason == "value"
