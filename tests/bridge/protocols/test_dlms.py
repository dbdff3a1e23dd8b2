"""Messages of DLMS from streams of frames: several frames, blocks, encryption, damage."""

from dataclasses import replace

import pytest
from firmware_bridge.protocols.dlms import MESSAGE_BYTES_MAX, Dlms
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.dlms_meter import (
    AIDON,
    AUTHENTICATION_KEY,
    KEY,
    block,
    ciphered,
    hdlc,
    mbus,
    notification,
    obis,
    structure,
    text,
    u32,
)
from tests.bridge.protocols.feeding import check_any_pieces, check_good_frame_survives

WITH_KEY = replace(Dlms(key_file="key"), key=KEY, authentication_key=AUTHENTICATION_KEY)
GOOD = hdlc(AIDON)
# List 1 of a Norwegian Kaifa meter, with the header, HCS and length of a real one.
KAIFA = bytes.fromhex(
    "7E A027 01 02 01 10 5A87 E6E700 0F40000000 090C 07E1090E04151F14FF800000 0201 0600000498"
)
SECRET = ciphered(AIDON)


def make() -> Decoder:
    return Dlms().decoder()


def make_with_key() -> Decoder:
    return WITH_KEY.decoder()


def powers(frames: list[Frame]) -> list[object]:
    return [frame.quantities["power_import"][0].value for frame in frames]


def split_hdlc(message: bytes, size: int = 60, *, with_header: bool = True) -> bytes:
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(
        hdlc(part, is_first=with_header and number == 0, is_last=number == len(parts) - 1)
        for number, part in enumerate(parts)
    )


def split_mbus(message: bytes, size: int = 100) -> bytes:
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(
        mbus(part, number, is_last=number == len(parts) - 1) for number, part in enumerate(parts)
    )


def blocks_of_landis(*sent: int) -> bytes:
    """Return blocks of AIDON as an E450 sends them: only the first one has an LLC header."""
    parts = (AIDON[:50], AIDON[50:90], AIDON[90:])
    return b"".join(
        hdlc(block(parts[number - 1], number, is_last=number == 3), is_first=number == 1)
        for number in sent
    )


@pytest.mark.parametrize(
    "stream",
    [
        GOOD + GOOD,
        GOOD[:-1] + GOOD,
        b"\x7e" + GOOD + b"\x7e\x7e" + GOOD,
        split_hdlc(AIDON) * 2,
        split_mbus(AIDON) * 2,
        mbus(AIDON, 0, is_last=True) * 2,
        hdlc(block(AIDON[:50], 1, is_last=False)) + hdlc(block(AIDON[50:], 2, is_last=True)) + GOOD,
        blocks_of_landis(1, 2, 3) * 2,
        hdlc(AIDON, is_first=False) * 2,
        split_hdlc(AIDON, with_header=False) * 2,
        hdlc(block(AIDON[:50], 1, is_last=False), is_first=False)
        + hdlc(block(AIDON[50:], 2, is_last=True), is_first=False)
        + GOOD,
    ],
)
def test_a_message_is_read_however_it_is_carried(stream: bytes) -> None:
    decoder = make()
    assert powers(decoder.feed(stream) + decoder.flush()) == [1255, 1255]
    assert (decoder.tally.damaged, decoder.tally.foreign) == ({}, {})
    assert len(check_any_pieces(make, stream)) == 2


@pytest.mark.parametrize(
    "carried",
    [
        hdlc(SECRET),
        split_hdlc(SECRET),
        split_mbus(SECRET),
        hdlc(SECRET, is_first=False),
        split_hdlc(SECRET, with_header=False),
    ],
)
def test_an_encrypted_message_is_read_with_its_keys(carried: bytes) -> None:
    assert powers(check_any_pieces(make_with_key, carried)) == [1255]
    without_tag = replace(WITH_KEY, authentication_key=None)
    assert powers(without_tag.decoder().feed(carried)) == [1255]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (Dlms(), "encrypted"),
        (replace(WITH_KEY, key=AUTHENTICATION_KEY), "key"),
        (replace(WITH_KEY, authentication_key=KEY), "key"),
        (replace(WITH_KEY, key=AUTHENTICATION_KEY, authentication_key=None), "key"),
    ],
)
def test_a_wrong_key_or_none_is_the_reason_of_the_damage(settings: Dlms, reason: str) -> None:
    decoder = settings.decoder()
    assert decoder.feed(hdlc(SECRET) * 3) == []
    assert decoder.tally.damaged == {reason: 3}


def test_a_key_that_is_right_in_the_first_byte_alone_is_wrong_too() -> None:
    decoder = replace(WITH_KEY, authentication_key=None).decoder()
    decoder.feed(hdlc(ciphered(b"\x0f\x99\x99\x99\x99\x99\x99\x99\x99")))
    assert decoder.tally.damaged == {"key": 1}
    decoder.feed(hdlc(ciphered(notification(structure(u32(1), u32(2))))))
    assert decoder.tally.damaged == {"key": 1, "layout": 1}, "the key is right"


@pytest.mark.parametrize(
    ("damage", "damaged"),
    [
        (GOOD.replace(b"AIDON", b"AIDOM"), {"checksum": 1}),
        (split_hdlc(AIDON)[: len(split_hdlc(AIDON)) // 2], {"truncated": 1}),
        (split_mbus(AIDON)[:-120], {"truncated": 1}),
        (hdlc(AIDON[60:], is_first=False), {"truncated": 1}),
        (split_hdlc(AIDON, with_header=False)[:78] + GOOD, {"truncated": 1}),
        (blocks_of_landis(1, 3), {"truncated": 1}),
        (blocks_of_landis(2, 3), {"truncated": 2}),
        (blocks_of_landis(1, 2) + blocks_of_landis(1, 2, 3), {"truncated": 1}),
        (hdlc(b"\x99\x00"), {"dlms": 1}),
        (hdlc(notification(u32(1))), {"layout": 1}),
    ],
)
def test_damage_is_counted_and_the_next_message_is_read(
    damage: bytes, damaged: dict[str, int]
) -> None:
    decoder = make()
    found = decoder.feed(damage) + decoder.flush() + decoder.feed(GOOD) + decoder.flush()
    assert powers(found)[-1:] == [1255]
    assert set(damaged) <= set(decoder.tally.damaged)
    assert decoder.tally.damaged.total() <= 2


def test_a_message_without_an_end_takes_no_more_than_its_bound() -> None:
    decoder = make()
    decoder.feed(hdlc(bytes(1000), is_last=False))
    for _ in range(MESSAGE_BYTES_MAX // 1000 + 1):
        decoder.feed(hdlc(bytes(1000), is_first=False, is_last=False))
    assert decoder.tally.damaged["overlong"] == 1
    assert powers(decoder.feed(GOOD)) == [1255]


def test_a_norwegian_kaifa_is_read() -> None:
    from firmware_bridge.protocols.checksums import crc16_x25  # noqa: PLC0415

    frame = KAIFA + crc16_x25(KAIFA[1:]).to_bytes(2, "little") + b"\x7e"
    assert powers(make().feed(frame)) == [1176]


def test_a_meter_number_is_kept_and_changes_no_type() -> None:
    number = structure(obis(0, 0, 96, 1, 0, 255), text("1234"))
    decoder = make()
    (frame,) = decoder.feed(hdlc(notification(number)))
    assert frame.quantities["meter_id"][0].value == "1234"


@given(st.lists(st.sampled_from([GOOD, GOOD[:40], GOOD[40:], split_mbus(AIDON), b"\x7e", b"h"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_message(noise: list[bytes]) -> None:
    check_good_frame_survives(make, noise, GOOD + GOOD, make().feed(GOOD))


# What a Landis+Gyr E450 in Thurgau sends every three minutes: three notifications in one frame.
THURGAU = bytes.fromhex(
    "7E A06D CE FF 03 13 90F1"
    "E6E700 0F0008FD7B 0C07E80B03071300 0FFF800000 0202 0601410C28 0600000000"
    "E6E700 0F0008FD7C 0C07E80B03071301 0FFF800000 0202 0601410C3A 0600000000"
    "E6E700 0F0008FD7D 0C07E80B03071302 0FFF800000 0202 0601410C4B 0600000000 FDF2 7E"
)


def test_a_frame_of_numbers_without_codes_is_damage_and_names_its_layout() -> None:
    decoder = make()
    assert decoder.feed(THURGAU) == []
    assert decoder.tally.damaged == {"layout": 1}


@pytest.mark.parametrize("header", [b"\xe6\xe7\x00", b""])
def test_several_notifications_in_one_frame_are_all_read(header: bytes) -> None:
    def power(value: int) -> bytes:
        return notification(structure(obis(1, 0, 1, 7, 0, 255), u32(value)))

    decoder = make()
    (frame,) = decoder.feed(hdlc(header.join(power(value) for value in (100, 200, 300))))
    assert [each.value for each in frame.quantities["power_import"]] == [100, 200, 300]
    (frame,) = decoder.feed(hdlc(power(1) + header + power(2)[:-2]))
    assert [each.value for each in frame.quantities["power_import"]] == [1]
    assert decoder.tally.skipped == {"dlms": 1}


@pytest.mark.parametrize("first", [b"\xdc", b"\xdd"])
def test_ciphering_that_is_not_supported_counts_as_encrypted(first: bytes) -> None:
    decoder = make_with_key()
    assert decoder.feed(hdlc(first + bytes(40))) == []
    assert decoder.tally.damaged == {"encrypted": 1}
