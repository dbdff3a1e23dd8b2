"""Messages inside SML files: entries, values, and elements that are invalid."""

import contextlib
from collections import Counter

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.sml_messages import read_messages
from firmware_bridge.readings.measurement import Measurement, Quantities
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.test_sml import entry, message

CODE, POWER, SIGNED = "0100010800ff", "01000f0700ff", "0100100700ff"


def read(data: bytes, skipped: Counter[str] | None = None) -> Quantities:
    return read_messages(data, Counter() if skipped is None else skipped)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (entry(CODE, "6502659be4"), Measurement("energy_import", 4021347.6, "Wh")),
        (entry(CODE, "52fe", unit="621b", scaler="5201"), Measurement("energy_import", -20, "W")),
        (entry("0000600310ff", "4201", unit="01", scaler="01"), Measurement("0-0:96.3.16", True)),
        (entry("0100600100fe", "0449534b", unit="01", scaler="01"),
         Measurement("1-0:96.1.0.254", "ISK")),
        (entry("010060320101", "0400ff01", unit="01", scaler="01"),
         Measurement("manufacturer", "00ff01")),
    ],
)  # fmt: skip
def test_an_entry_becomes_a_measurement(written: str, expected: Measurement) -> None:
    (found,) = read(message(written)).values()
    assert found == [expected]


def test_an_entry_without_a_value_and_other_messages_are_no_reading() -> None:
    assert read(message(entry(CODE, "01"))) == {}
    assert read(bytes.fromhex("76050102030462006200726302017101630000" + "00")) == {}


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
        read(data)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ("77" + "030100" + "0101621e52ff620401", "sml"),
        (entry(CODE, "6204", scaler="527f"), "value"),
        (entry(CODE, "7101"), "sml"),
        (entry(CODE, "6a" + "00" * 9), "sml"),
        (entry(CODE, "12" + "00"), "sml"),
        (entry(CODE, "4201"), "type"),
        (entry(CODE, "03ff00"), "type"),
        ("76" + "01" * 6, "sml"),
    ],
)
def test_an_odd_entry_costs_itself(odd: str, reason: str) -> None:
    skipped: Counter[str] = Counter()
    (name,) = read(message(odd, entry("0100020800ff", "6204")), skipped)
    assert (name, skipped) == ("energy_export", {reason: 1})


def test_a_file_is_bounded_by_its_bytes_and_not_by_its_entries() -> None:
    entries = [entry(f"0100{number:02x}0800ff", "6204") for number in range(3, 93)]
    assert len(read(message_of_many(entries))) == 90


def message_of_many(entries: list[str]) -> bytes:
    count = len(entries)
    listed = f"{0xF0 | count >> 4:02x}{count & 15:02x}" + "".join(entries)
    return bytes.fromhex(f"760501020304620062007263070177010b0a01484c59020003a9100101{listed}0101"
                         "63000000")  # fmt: skip


def status_entry(status: str, code: str = CODE) -> str:
    return f"7707{code}{status}01621e52ff620401"


@pytest.mark.parametrize(
    ("status", "power", "expected"),
    [
        ("0301a2", POWER, {"power_direction": "export", "power": -2.0}),
        ("62a2", POWER, {"power_direction": "export", "power": -2.0}),
        ("6900000000000001a2", POWER, {"power_direction": "export", "power": -2.0}),
        ("6500000182", POWER, {"power_direction": "import", "power": 2.0}),
        ("6301a2", POWER, {"power_direction": "export", "power": -2.0}),
        ("640101a2", POWER, {"power_direction": "export", "power": -2.0}),
        ("64010182", POWER, {"power_direction": "import", "power": 2.0}),
        ("650283bc30", POWER, {}),
        ("641c0904", SIGNED, {"power": -2.0}),
        ("65001c0104", SIGNED, {"power": 2.0}),
        ("641c0904", POWER, {"power_direction": "export", "power": -2.0}),
        ("6204", SIGNED, {"power": 2.0}),
        ("6301a2", SIGNED, {"power": 2.0}),
    ],
)
def test_the_status_word_has_the_direction_of_power_that_has_no_sign(
    status: str, power: str, expected: dict[str, object]
) -> None:
    found = read(message(status_entry(status), entry(power, "6214", unit="621b")))
    values = {name: each[0].value for name, each in found.items()}
    own = {"energy_import", "power_absolute", "meter_status"}
    assert {name: value for name, value in values.items() if name not in own} == expected
    assert values["meter_status"] == int(status[2:], 16)


def test_a_status_word_of_more_than_63_bits_is_left_out() -> None:
    assert list(read(message(status_entry("69" + "ff" * 8)))) == ["energy_import"]


def test_a_power_that_is_negative_stays_and_the_register_of_export_has_the_status_too() -> None:
    export = status_entry("641c0904", "0100020800ff")
    found = read(message(entry(CODE, "6204"), export, entry(SIGNED, "53fff6", unit="621b")))
    assert found["power"][0].value == -1.0


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(Damaged):
        read(data)
