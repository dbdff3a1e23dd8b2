"""SML files from damaged streams."""

from collections.abc import Callable

import pytest
from firmware_bridge.protocols.checksums import crc16_kermit, crc16_x25
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.protocols.sml import FILE_BYTES_MAX, Sml
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.feeding import check_any_pieces, check_good_frame_survives

START = bytes.fromhex("1b1b1b1b01010101")


def entry(code: str, value: str, unit: str = "621e", scaler: str = "52ff") -> str:
    return f"7707{code}0101{unit}{scaler}{value}01"


def message(*entries: str) -> bytes:
    listed = f"{0x70 + len(entries):02x}" + "".join(entries)
    return bytes.fromhex(f"760501020304620062007263070177010b0a01484c59020003a9100101{listed}0101"
                         "63000000")  # fmt: skip


def sml_file(content: bytes, crc: Callable[[bytes], int] = crc16_x25) -> bytes:
    fill = -len(content) % 4
    steps = [(content + bytes(fill))[at : at + 4] for at in range(0, len(content), 4)]
    escaped = b"".join(step * 2 if step == b"\x1b" * 4 else step for step in steps)
    data = START + escaped + b"\x1b" * 4 + bytes((0x1A, fill))
    return data + crc(data).to_bytes(2, "little")


ENERGY = sml_file(message(entry("0100010800ff", "6502659be4")))
OTHER = sml_file(message(entry("0100020800ff", "6204")))


def make() -> Decoder:
    return Sml().decoder()


def values(frames: list[Frame]) -> list[object]:
    return [each[0].value for frame in frames for each in frame.quantities.values()]


@pytest.mark.parametrize(
    ("damage", "damaged", "foreign"),
    [
        (ENERGY.replace(b"\x02\x65", b"\x02\x66"), {"checksum": 1}, {}),
        (ENERGY[:40], {"truncated": 1}, {}),
        (ENERGY[:-1], {"checksum": 1}, {}),
        (ENERGY[20:], {}, {"noise": 1}),
        (sml_file(b"\x76\x05\x01"), {"sml": 1}, {}),
        (START + bytes(4) + b"\x1b" * 4 + b"\x02" * 4, {"escape": 1}, {}),
        (START + bytes(FILE_BYTES_MAX), {"overlong": 1}, {}),
        (sml_file(message(entry("0100010800ff", "6204", scaler="527f"))), {}, {}),
    ],
)
def test_damage_is_counted_once_and_the_next_file_is_read(
    damage: bytes, damaged: dict[str, int], foreign: dict[str, int]
) -> None:
    decoder = make()
    assert values(decoder.feed(damage + OTHER)) == [0.4]
    assert (decoder.tally.damaged, decoder.tally.foreign) == (damaged, foreign)
    assert values(check_any_pieces(make, damage + OTHER)) == [0.4]


@pytest.mark.parametrize("before", ["", "00", "0000", "000000"])
def test_the_other_crc_of_some_meters_and_an_escape_within_a_text_are_read(before: str) -> None:
    text = bytes.fromhex(before) + message(entry("0100600100ff", "05" + "1b1b1b1b"))
    assert values(make().feed(sml_file(text, crc16_kermit))) == ["1b1b1b1b"]


def test_a_value_may_contain_the_start_of_a_file() -> None:
    whole = next(
        data
        for fill in range(4)
        if START in (text := bytes(fill) + message(entry("0100600100ff", "09" + START.hex())))
        and text.index(START) % 4 == 0
        for data in (sml_file(text),)
    )
    decoder = make()
    assert values(decoder.feed(whole + OTHER)) == [START.hex(), 0.4]
    assert not decoder.tally.damaged
    assert values(check_any_pieces(make, whole + OTHER)) == [START.hex(), 0.4]


def test_a_file_cut_within_its_end_does_not_cost_the_next_one() -> None:
    decoder = make()
    assert values(decoder.feed(ENERGY[:-4] + OTHER)) == [0.4]
    assert decoder.tally.damaged == {"checksum": 1}


@given(st.lists(st.sampled_from([ENERGY, START, b"\x1b", b"\x1a", OTHER[:40], OTHER[40:]])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_file(noise: list[bytes]) -> None:
    check_good_frame_survives(make, noise, OTHER, make().feed(OTHER))


@given(st.binary(max_size=200))
def test_no_sound_frame_around_any_messages_raises(content: bytes) -> None:
    make().feed(sml_file(content))


@pytest.mark.parametrize(
    ("server", "value", "power"),
    [
        ("0a01445a4700025e8f3a", "52c8", 200),  # number 39,751,482
        ("0a01445a4700025e8f3a", "53fe0c", 65036),
        ("0a01445a4700025e8f3a", "55fffffe0c", -500),
        ("0a01445a470003938701", "52c8", -56),  # number 60,000,001
        ("0a01454d480000025e8f", "52c8", -56),  # of another maker
    ],
)
def test_old_meters_of_dzg_leave_out_zeros_before_a_positive_power(
    server: str, value: str, power: int
) -> None:
    data = message(entry("0100100700ff", value, unit="621b", scaler="5200"))
    data = data.replace(bytes.fromhex("0a01484c59020003a910"), bytes.fromhex(server))
    assert server in data.hex()
    (frame,) = make().feed(sml_file(data))
    assert frame.quantities["power"][0].value == power


@pytest.mark.parametrize(
    ("status", "value", "power"),
    [
        ("641c7904", "54fecbfd", -788.51),  # DWSB20.2TH while exporting
        ("641c7904", "5386d4", -310.2),
        ("641c0104", "538b28", 356.24),  # DVS74 while importing
        ("64040104", "53c60c", 507.0),  # DVS74 for one phase and one direction
        ("641c7904", "55fffecbfd", -788.51),
        ("641c0904", "530c0c", -30.84),
    ],
)
def test_a_short_negative_power_of_an_old_meter_of_dzg_is_export_if_its_status_word_means_export(
    status: str, value: str, power: float
) -> None:
    energy = f"77070100010800ff{status}01621e52ff5415bbaa01"
    data = message(energy, entry("0100100700ff", value, unit="621b", scaler="52fe"))
    data = data.replace(
        bytes.fromhex("0a01484c59020003a910"), bytes.fromhex("0a01445a4700025e8f3a")
    )
    (frame,) = make().feed(sml_file(data))
    assert frame.quantities["power"][0].value == power
