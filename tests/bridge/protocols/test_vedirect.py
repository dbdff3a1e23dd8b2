"""Blocks of VE.Direct from damaged streams."""

import pytest
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.protocols.vedirect import BLOCK_BYTES_MAX, VeDirect
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.feeding import check_any_pieces, check_good_frame_survives


def block(*fields: tuple[str, str]) -> bytes:
    data = b"".join(f"\r\n{label}\t{text}".encode("latin-1") for label, text in fields)
    data += b"\r\nChecksum\t"
    return data + bytes((-sum(data) & 0xFF,))


FIRST = block(("PID", "0xA053"), ("V", "12800"), ("I", "-150"))
OTHER = block(("PID", "0xA053"), ("V", "12810"))
HEX = b":A0002000148\n"


def make() -> Decoder:
    return VeDirect().decoder()


def voltages(frames: list[Frame]) -> list[object]:
    return [frame.quantities["battery_voltage"][0].value for frame in frames]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (("V", "12800"), Measurement("battery_voltage", 12.8, "V")),
        (("I", "-150"), Measurement("battery_current", -0.15, "A")),
        (("SOC", "995"), Measurement("state_of_charge", 99.5, "%EL")),
        (("H19", "123"), Measurement("yield_total", 1.23, "kWh")),
        (("LOAD", "ON"), Measurement("load", True)),
        (("CS", "3"), Measurement("state", "bulk")),
        (("CS", "250"), Measurement("state", "250")),
        (("MPPT", "2"), Measurement("tracker_mode", "tracking")),
        (("MODE", "253"), Measurement("mode", "hibernate")),
        (("OR", "0x00000001"), Measurement("off_reason", "0x00000001")),
        (("AR", "0x10"), Measurement("alarm_reason", 16)),
        (("SER#", "0123"), Measurement("serial_number", "0123")),
        (("HC#", "4.11"), Measurement("hardware", "4.11")),
        (("NEW", "5"), Measurement("NEW", 5)),
    ],
)
def test_a_field_becomes_a_measurement_in_its_unit(
    field: tuple[str, str], expected: Measurement
) -> None:
    (frame,) = make().feed(block(field))
    assert frame.quantities == {expected.name: [expected]}


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (("NEW", "---"), "not_measured"),
        (("NEW", ""), "not_measured"),
        (("TTG", "-1"), "not_measured"),
        (("SOC", "---"), "not_measured"),
        (("V", ""), "not_measured"),
        (("V", "high"), "type"),
        (("V", "1e400"), "value"),
        (("FW", "\xff"), "text"),
        (("#", "1"), "name"),
    ],
)
def test_a_field_that_cannot_be_read_costs_itself(field: tuple[str, str], reason: str) -> None:
    decoder = make()
    (frame,) = decoder.feed(block(field, ("PPV", "30")))
    assert list(frame.quantities) == ["panel_power"]
    assert (decoder.tally.damaged, decoder.tally.skipped) == ({}, {reason: 1})


@pytest.mark.parametrize(
    ("damage", "damaged"),
    [
        (FIRST.replace(b"12800", b"92800"), {"checksum": 1}),
        (FIRST.replace(b"Checksum", b"Checksun"), {"truncated": 1}),
        (FIRST[:-1], {"checksum": 1}),
        (b"x" * (BLOCK_BYTES_MAX + 1), {"overlong": 1}),
        (HEX, {}),
    ],
)
def test_damage_is_counted_and_the_next_block_is_read(
    damage: bytes, damaged: dict[str, int]
) -> None:
    decoder = make()
    assert voltages(decoder.feed(damage + OTHER + OTHER))[-1:] == [12.81]
    assert decoder.tally.damaged == damaged
    check_any_pieces(make, damage + OTHER + OTHER)


def test_two_blocks_whose_sum_is_0_by_chance_are_never_one() -> None:
    cut = FIRST[: FIRST.index(b"\r\nChecksum")]
    number = next(each for each in range(256) if not (sum(cut) + each + sum(OTHER)) % 256)
    decoder = make()
    stream = cut + bytes((number,)) + OTHER
    assert voltages(decoder.feed(stream)) == [12.81]
    assert decoder.tally.damaged == {"truncated": 1}


def test_messages_of_the_hex_protocol_are_skipped_wherever_they_are() -> None:
    position = FIRST.index(b"\r\nI")
    stream = HEX + FIRST[:position] + HEX + HEX + FIRST[position:] + HEX + OTHER
    decoder = make()
    assert voltages(decoder.feed(stream)) == [12.8, 12.81]
    assert decoder.flush() == []
    assert not decoder.tally.damaged


@pytest.mark.parametrize("checksum", b":\n\r\t")
def test_the_checksum_may_be_any_byte(checksum: int) -> None:
    wanted = next(
        found
        for number in range(100_000)
        if (found := block(("V", str(number)), ("I", "0")))[-1] == checksum
    )
    assert voltages(make().feed(wanted + OTHER))[-1] == 12.81
    assert len(make().feed(wanted + OTHER)) == 2


def test_a_block_cut_by_opening_the_port_is_counted_as_such() -> None:
    decoder = make()
    decoder.begin(mid_line=True)
    assert voltages(decoder.feed(FIRST[20:] + OTHER)) == [12.81]
    assert decoder.tally.damaged == {"truncated": 1}
    decoder.feed(FIRST[:20])
    decoder.flush()
    assert voltages(decoder.feed(OTHER)) == [12.81]
    assert decoder.tally.damaged == {"truncated": 2}


@given(st.lists(st.sampled_from([FIRST, OTHER[:20], OTHER[20:], HEX, b":", b"\n", b"Checksum\t"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_block(noise: list[bytes]) -> None:
    check_good_frame_survives(make, noise, OTHER, make().feed(OTHER))
