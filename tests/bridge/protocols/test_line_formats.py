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


def read_values(line: str) -> dict[str, object]:
    reader = PairReader(Kinds(), takes_colons="p:" in line)
    return {name: each.value for name, each in reader.read(line, Counter()).items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("s=1 013.25", {"s": 1013.25}),
        ("s = 1 013,25 hPa t=2", {"s": 1013.25, "t": 2}),
        ("p: 1\u202f013.25", {"p": 1013.25}),
        ("n=-12 345 678.5;t=2", {"n": -12345678.5, "t": 2}),
        # These may be one number or two.
        ("t=21.5 p=1 013", {"t": 21.5}),
        ("a=512 300 b=2", {"b": 2}),
        ("t=21 45", {"t": 21}),
        ("t=21.5 300", {"t": 21.5}),
    ],
)
def test_a_number_with_blanks_between_its_thousands_is_never_read_in_part(
    line: str, expected: dict[str, float]
) -> None:
    assert read_values(line) == expected


@pytest.mark.parametrize("line", ["t=21.5,h=40*2C", "$t=21.5,h=40*2c"])
def test_a_checksum_at_the_end_of_a_line_is_checked_and_is_no_part_of_the_value(line: str) -> None:
    assert read_values(line) == {"t": 21.5, "h": 40}
    with pytest.raises(Damaged, match="checksum"):
        read_values(line.replace("21.5", "21.6"))
    assert read_values("id=ab*5A") == {"id": "ab*5A"}


@pytest.mark.parametrize("head", ["I (123) dht: ", "W (12:00:01.123) dht: "])
def test_the_head_of_a_log_of_esp_idf_is_skipped(head: str) -> None:
    assert read_values(f"{head}t=21.5 h=40") == {"t": 21.5, "h": 40}
    for line in (
        "I (108) esp_image: segment 0: paddr=00010020 vaddr=3f400020 size=0e6e8h ( 59112) map",
        "I (599) wifi:mode : sta",
        "I (28) boot: chip revision: v3.0",
        "E (99) i2c: err=-1",
    ):
        with pytest.raises(Damaged, match="syntax"):
            read_values(line)
