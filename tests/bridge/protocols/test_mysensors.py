"""Messages of a MySensors gateway."""

import pytest
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.protocols.mysensors import MySensors, read_message
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
    assert read_message(line) == Frame({expected.name: [expected]}, part=node)


@pytest.mark.parametrize(
    "line", ["12;6;0;0;6;2.3.2", "0;255;3;0;14;Startup complete.", "12;6;1;1;0;3", "12;6;1;0;0;"]
)
def test_other_messages_are_no_reading_and_no_damage(line: str) -> None:
    assert read_message(line) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [("12;6;1;0;0", "syntax"), ("256;6;1;0;0;1", "syntax"), ("1;6;1;0;0;1e999", "value")],
)
def test_damage_has_a_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged, match=reason):
        read_message(line)


@given(st.lists(st.sampled_from([b"1;2;1;0;0;3\n", b";", b"1", b"\n", b"\xff"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))
