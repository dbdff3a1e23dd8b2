"""Properties that all text formats of lines share, whatever their syntax."""

import contextlib
from collections import Counter
from collections.abc import Callable

import pytest
from firmware_bridge.protocols.csv_lines import CellReader
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.json_lines import MemberReader
from firmware_bridge.protocols.key_value import PairReader
from firmware_bridge.readings.kinds import Kinds
from hypothesis import given
from hypothesis import strategies as st

COLUMNS = ("a", "_", "b")


def read_csv(line: str) -> object:
    return CellReader(COLUMNS, Kinds()).read(line, Counter())


def read_json(line: str) -> object:
    return MemberReader(Kinds()).read(line, Counter())


def read_pairs(line: str) -> object:
    return PairReader(Kinds()).read(line, Counter())


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
