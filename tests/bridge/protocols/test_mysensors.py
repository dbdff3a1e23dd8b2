"""Messages of a MySensors gateway."""

from collections import Counter

import pytest
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.protocols.mysensors import MySensors, read_message
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.feeding import check_any_pieces


def make() -> Decoder:
    return MySensors().decoder()


@pytest.mark.parametrize(
    ("line", "node", "expected"),
    [
        ("12;6;1;0;0;36.5", "12", Measurement("temperature_6", 36.5, "Cel")),
        ("12;7;1;0;16;1", "12", Measurement("tripped_7", 1)),
        ("12;7;1;0;47;open; or not", "12", Measurement("text_7", "open; or not")),
        ("255;7;1;0;200;x", "255", Measurement("type200_7", "x")),
        ("12;255;3;0;0;93", "12", Measurement("battery", 93, "%")),
    ],
)
def test_a_value_of_a_node_is_a_reading_of_its_device(
    line: str, node: str, expected: Measurement
) -> None:
    frame = read_message(line, Kinds(), Counter())
    assert frame == Frame({expected.name: [expected]}, part=node)


@pytest.mark.parametrize(
    "line", ["12;6;0;0;6;2.3.2", "0;255;3;0;14;Startup complete.", "12;6;1;1;0;3"]
)
def test_other_messages_are_no_reading_and_no_damage(line: str) -> None:
    skipped: Counter[str] = Counter()
    assert read_message(line, Kinds(), skipped) is None
    assert not skipped


@pytest.mark.parametrize("payload", ["", "nan", "inf", "--"])
def test_a_message_without_a_value_is_counted_as_not_measured(payload: str) -> None:
    skipped: Counter[str] = Counter()
    assert read_message(f"12;6;1;0;0;{payload}", Kinds(), skipped) is None
    assert skipped == {"not_measured": 1}


def test_a_value_of_no_known_type_keeps_the_type_of_its_first_value() -> None:
    decoder = make()
    found = decoder.feed(b"1;2;1;0;24;1\n1;2;1;0;24;x\n2;2;1;0;24;x\n2;2;1;0;24;1\n")
    assert [(f.part, f.quantities["var1_2"][0].value) for f in found] == [
        ("1", 1),
        ("2", "x"),
        ("2", "1"),
    ]
    assert decoder.tally.damaged == {"type": 1}


def test_digits_of_a_colour_are_a_text() -> None:
    (frame,) = make().feed(b"1;2;1;0;40;001122\n")
    assert frame.quantities["rgb_2"][0].value == "001122"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("12;6;1;0;0", "syntax"),
        ("256;6;1;0;0;1", "syntax"),
        ("1;6;1;0;0;1e999", "value"),
        ("1;6;1;0;0;warm", "type"),
    ],
)
def test_damage_has_a_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged, match=reason):
        read_message(line, Kinds(), Counter())


@given(st.lists(st.sampled_from([b"1;2;1;0;0;3\n", b";", b"1", b"\n", b"\xff"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))
