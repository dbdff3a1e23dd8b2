"""Frames declared in the configuration, with the documentation's PMS5003 as the example."""

import pytest
from firmware_bridge.protocols.checksums import CHECKSUMS
from firmware_bridge.protocols.declared_field import FrameField
from firmware_bridge.protocols.declared_frames import FRAME_BYTES_MAX, DeclaredFrames
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from tests.bridge.protocols.feeding import check_any_pieces, check_good_frame_survives

PMS5003 = DeclaredFrames(
    start="42 4D", length_at=2, length_type="u16", length_adds=4, checksum="sum16",
    fields=(
        FrameField(name="pm1_0", at=10, type="u16", unit="ug/m3"),
        FrameField(name="pm2_5", at=12, type="u16", unit="ug/m3"),
        FrameField(name="pm10", at=14, type="u16", unit="ug/m3"),
    ),
)  # fmt: skip
# The response of an MH-Z19 to "read CO2", and a frame of an SDS011.
MHZ19 = DeclaredFrames(
    start="FF 86", frame_bytes=9, checksum="sum8_negated", checksum_from=1,
    fields=(FrameField(name="co2", at=2, type="u16", unit="ppm"),),
)  # fmt: skip
SDS011 = DeclaredFrames(
    start="AA C0", end="AB", frame_bytes=10, byte_order="little", checksum="sum8",
    checksum_from=2, fields=(FrameField(name="pm2_5", at=2, type="u16", scale=0.1),),
)  # fmt: skip

# The response of a battery management system of JBD to "read basic information".
JBD = DeclaredFrames(
    start="DD 03", end="77", length_at=3, length_adds=7, checksum="sum16_negated", checksum_from=2,
    fields=(FrameField(name="current", at=6, type="i16", scale=0.01, unit="A"),),
)  # fmt: skip

# A PZEM-004T before V3.0: the maker's example of an energy.
PZEM_BEFORE_V3 = DeclaredFrames(
    start="A3", frame_bytes=7, checksum="sum8",
    fields=(FrameField(name="energy_import", at=1, type="u24", unit="Wh"),),
)  # fmt: skip


def pms(*values: int) -> bytes:
    words = [28, 0, 0, 0, *values, *[7] * 7]
    data = b"BM" + b"".join(word.to_bytes(2, "big") for word in words)
    return data + sum(data).to_bytes(2, "big")


GOOD, OTHER = pms(5, 8, 9), pms(11, 12, 13)


def make() -> Decoder:
    return PMS5003.decoder()


def values(frames: list[Frame]) -> list[object]:
    return [[each.value for (each,) in frame.quantities.values()] for frame in frames]


@pytest.mark.parametrize(
    ("damage", "damaged", "foreign"),
    [
        (GOOD[:13] + b"\x01" + GOOD[14:], {"checksum": 1}, {}),
        (GOOD[:20], {"checksum": 1}, {}),
        (GOOD[:2] + b"\xff\xff" + GOOD[4:], {"length": 1}, {}),
        (GOOD[:2] + b"\x00\x00" + GOOD[4:], {"length": 1}, {}),
        (GOOD[5:], {}, {"noise": 1}),
        (b"BM", {"length": 1}, {}),
        (b"B", {}, {"noise": 1}),
    ],
)
def test_damage_is_counted_once_and_the_next_frame_is_read(
    damage: bytes, damaged: dict[str, int], foreign: dict[str, int]
) -> None:
    decoder = make()
    assert values(decoder.feed(damage + OTHER)) == [[11, 12, 13]]
    assert (decoder.tally.damaged, decoder.tally.foreign) == (damaged, foreign)
    assert values(check_any_pieces(make, damage + OTHER)) == [[11, 12, 13]]


@pytest.mark.parametrize(
    ("settings", "data", "value"),
    [
        (MHZ19, "ff 86 02 60 47 00 00 00 d1", 608),
        (SDS011, "aa c0 d4 04 3a 0a a1 60 1d ab", 123.6),
        (JBD, "dd 03 00 08 05 32 ff 9c 03 e8 07 d0 fc 64 77", -1.0),
        (PZEM_BEFORE_V3, "a3 01 86 9f 00 00 c9", 99_999),
    ],
)
def test_other_sensors_are_described_by_other_settings(
    settings: DeclaredFrames, data: str, value: float
) -> None:
    settings.check()
    decoder = settings.decoder()
    assert values(decoder.feed(bytes.fromhex(data))) == [[value]]
    assert decoder.feed(bytes.fromhex(data)[:-1] + b"\x00") == []
    assert sum(decoder.tally.damaged.values()) == 1


@pytest.mark.parametrize(
    ("changed", "fix"),
    [
        ({"frame_bytes": 8}, "either frame_bytes or length_at"),
        ({"length_at": None}, "either frame_bytes or length_at"),
        ({"length_at": None, "frame_bytes": 16}, "a larger frame_bytes"),
        ({"fields": PMS5003.fields * 2}, '"pm1_0" once'),
    ],
)
def test_frames_that_could_not_be_read_are_refused(changed: dict[str, object], fix: str) -> None:
    values = {key: getattr(PMS5003, key) for key in PMS5003.descriptions}
    with pytest.raises(PydanticCustomError, match=fix):
        DeclaredFrames(**{**values, **changed}).check()


@given(st.lists(st.sampled_from([GOOD, b"B", b"BM", b"\x00\x1c", OTHER[:9], OTHER[9:]])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))


@given(st.lists(st.binary(max_size=FRAME_BYTES_MAX), max_size=10))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_frame(noise: list[bytes]) -> None:
    check_good_frame_survives(make, noise, OTHER, make().feed(OTHER))


# A console of Davis: 255 and 32767 are the dashes of its display.
DAVIS = DeclaredFrames(
    start="4C 4F 4F", frame_bytes=16, byte_order="little", checksum="crc16_xmodem",
    checksum_order="big",
    fields=(
        FrameField(name="humidity", at=3, unit="%RH", no_value=(255,)),
        FrameField(name="outside", at=4, type="i16", scale=0.1, no_value=(0x7FFF,)),
        FrameField(name="dew_point", at=6, type="f32"),
        FrameField(name="depth", at=10, type="u24", no_value=(0xFFFFFF,)),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "expected", "skipped"),
    [
        ("28 e6 02 00 00 b4 41 01 00 00 00", [40, 74.2, 22.5, 1], {}),
        ("ff e6 02 00 00 b4 41 01 00 00 00", [74.2, 22.5, 1], {"no_value": 1}),
        ("28 ff 7f 00 00 b4 41 ff ff ff 00", [40, 22.5], {"no_value": 2}),
        ("28 e6 02 00 00 c0 7f 01 00 00 00", [40, 74.2, 1], {"not_measured": 1}),
        ("ff ff 7f 00 00 80 ff ff ff ff 00", None, {"no_value": 3, "not_measured": 1}),
    ],
)
def test_a_field_without_a_value_costs_no_other_field(
    content: str, expected: list[object] | None, skipped: dict[str, int]
) -> None:
    DAVIS.check()
    data = b"LOO" + bytes.fromhex(content)
    decoder = DAVIS.decoder()
    frames = decoder.feed(data + CHECKSUMS["crc16_xmodem"].of(data).to_bytes(2, "big"))
    assert values(frames) == ([] if expected is None else [expected])
    assert (decoder.tally.skipped, decoder.tally.damaged) == (skipped, {})
