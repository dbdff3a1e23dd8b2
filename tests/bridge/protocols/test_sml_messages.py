"""The elements of SML messages."""

import contextlib

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.sml_messages import read_messages
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.test_sml import entry, message

CODE = "0100010800ff"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (entry(CODE, "6502659be4"), Measurement("energy_import", 4021347.6, "Wh")),
        (entry(CODE, "52fe", unit="621b", scaler="5201"), Measurement("energy_import", -20, "W")),
        (entry(CODE, "4201", unit="01", scaler="01"), Measurement("energy_import", True)),
        (entry("0100600100fe", "0449534b", unit="01", scaler="01"),
         Measurement("1-0:96.1.0.254", "ISK")),
        (entry("010060320101", "0400ff01", unit="01", scaler="01"),
         Measurement("manufacturer", "00ff01")),
    ],
)  # fmt: skip
def test_an_entry_becomes_a_measurement(written: str, expected: Measurement) -> None:
    (found,) = read_messages(message(written)).values()
    assert found == [expected]


def test_an_entry_without_a_value_and_other_messages_are_no_reading() -> None:
    assert read_messages(message(entry(CODE, "01"))) == {}
    assert read_messages(bytes.fromhex("76050102030462006200726302017101630000" + "00")) == {}


@pytest.mark.parametrize(
    "data",
    [
        message()[:-10],
        bytes.fromhex("75" + "01" * 5),
        bytes.fromhex("71" * 20),
        bytes.fromhex("ffffffff"),
        message(entry("0100", "6204")),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(Damaged, match="sml"):
        read_messages(data)


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(Damaged):
        read_messages(data)
