"""P1 telegrams from damaged streams."""

from dataclasses import replace
from functools import reduce
from operator import xor

import pytest
from firmware_bridge.protocols.checksums import crc16_arc
from firmware_bridge.protocols.dsmr import TELEGRAM_BYTES_MAX, Dsmr
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.dlms_meter import AUTHENTICATION_KEY, KEY, ciphered
from tests.bridge.protocols.feeding import check_any_pieces, check_good_frame_survives


def telegram(*lines: str, head: str = "/ISk5\\2MT382-1000") -> bytes:
    text = "\r\n".join([head, "", *lines, "!"]).encode()
    return text + b"%04X\r\n" % crc16_arc(text)


POWER = telegram("0-0:1.0.0(170102192002W)", "1-0:1.7.0(00.244*kW)")
OTHER = telegram("1-0:1.7.0(00.300*kW)")
MESSAGE = "0-0:96.13.0(" + "31" * 60 + ")"
LONG, LONG_OTHER = (
    telegram(MESSAGE, "1-0:1.7.0(00.244*kW)"), telegram(MESSAGE, "1-0:1.7.0(00.300*kW)"),
)  # fmt: skip


def make() -> Decoder:
    return Dsmr().decoder()


def values(frames: list[Frame]) -> list[object]:
    return [frame.quantities["power_import"][0].value for frame in frames]


@pytest.mark.parametrize(
    ("damage", "damaged", "foreign"),
    [
        (POWER.replace(b"244", b"245"), {"checksum": 1}, {}),
        (POWER[:-6] + b"\r\n", {"no_checksum": 1}, {}),
        (POWER[:40], {"truncated": 1}, {}),
        (POWER[:-6] + b"6\xff7\r\n", {"truncated": 1}, {}),
        (POWER[40:], {}, {"noise": 1}),
        (b"http://example/\r\n", {}, {"noise": 1}),
        (b"/ISk5" + b"x" * TELEGRAM_BYTES_MAX + b"\r\n!0000\r\n", {"overlong": 1}, {}),
        (telegram("0-0:96.1.1(\xe4)"), {}, {}),
        (telegram(), {}, {}),
    ],
)
def test_damage_is_counted_once_and_the_next_telegram_is_read(
    damage: bytes, damaged: dict[str, int], foreign: dict[str, int]
) -> None:
    decoder = make()
    assert values(decoder.feed(damage + OTHER)) == [0.3]
    assert (decoder.tally.damaged, decoder.tally.foreign) == (damaged, foreign)
    assert values(check_any_pieces(make, damage + OTHER)) == [0.3]


def pushed(objects: bytes) -> bytes:
    """Return a telegram of a D0 meter that sends without being polled, with its BCC."""
    content = objects + b"!\r\n\x03"
    return b"/ISK5MT174\r\n\x02" + content + bytes((reduce(xor, content, 0),))


def test_a_pushed_telegram_between_stx_and_etx_has_a_check_of_its_own() -> None:
    sound, other = pushed(b"1.7.0(0.244*kW)\r\n"), pushed(b"1.7.0(0.3*kW)\r\n")
    stream = sound + b"\r\n" + sound.replace(b"244", b"944") + other

    def without_crc() -> Decoder:
        return Dsmr(crc=False).decoder()

    decoder = without_crc()
    assert values(decoder.feed(stream)) == [0.244, 0.3]
    assert (decoder.tally.damaged, decoder.tally.foreign) == ({"checksum": 1}, {})
    check_any_pieces(without_crc, stream)


def test_a_value_that_comes_twice_is_no_mixture_if_the_bcc_is_right() -> None:
    # Elster A1500: periods before the first reset all have the number 00.
    decoder = Dsmr(crc=False).decoder()
    lines = b"1.8.0(5*kWh)\r\n1.8.0*00(1.0)\r\n1.8.0*00(0.0)\r\n1.7.0(0.244*kW)\r\n"
    assert values(decoder.feed(pushed(lines) + b"\r\n")) == [0.244]
    assert decoder.tally.damaged == {}


def test_a_crc_of_zeros_is_none_if_none_is_expected() -> None:
    # Iskraemeco AM550 in Slovenia
    stream = b"/ISK5\\AM550\r\n\r\n1-0:1.7.0(00.244*kW)\r\n!0000\r\n"
    decoder = Dsmr(crc=False).decoder()
    assert values(decoder.feed(stream) + decoder.feed(stream.replace(b"0000", b"0001"))) == [0.244]
    assert decoder.tally.damaged == {"checksum": 1}
    strict = make()
    assert strict.feed(stream) == []
    assert strict.tally.damaged == {"checksum": 1}


@pytest.mark.parametrize("count", [0, 20, 60, 400])
def test_the_length_of_an_encrypted_message_may_have_one_to_three_bytes(count: int) -> None:
    plain = telegram("1-0:1.7.0(00.244*kW)", f"0-0:96.13.0({'31' * count})")
    message = ciphered(plain)
    if len(plain) + 17 in range(128, 256):
        message = message.replace(b"\x82\x00", b"\x81", 1)

    def with_key() -> Decoder:
        return replace(Dsmr(key_file="/key"), key=KEY).decoder()

    assert values(check_any_pieces(with_key, b"\xdb\x08" + message)) == [0.244]
    without_key = make()
    assert without_key.feed(message + OTHER)[0].quantities["power_import"][0].value == 0.3
    assert without_key.tally.damaged == {"encrypted": 1}


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (b"!\x37D7\xb1\r\n", "checksum"),
        (b"!37D\xff", "checksum"),
        (b"", "checksum"),
        (b"!\r\n", "no_checksum"),
    ],
)
def test_an_encrypted_telegram_with_an_odd_end_is_damage(end: bytes, reason: str) -> None:
    # Without an authentication key, a fault of the line shows only here.
    decoder = replace(Dsmr(key_file="/key"), key=KEY).decoder()
    assert decoder.feed(ciphered(POWER[:-7] + end)) == []
    assert decoder.tally.damaged == {reason: 1}
    assert values(decoder.feed(ciphered(b"\r\n" + POWER + b"\0\0"))) == [0.244]


@pytest.mark.parametrize("end", [b"", b"\0", b"\r", b" \r\n"])
def test_a_telegram_is_complete_with_its_crc_whatever_ends_the_line(end: bytes) -> None:
    stream = POWER.rstrip() + end
    assert values(check_any_pieces(make, stream)) == [0.244]
    assert values(check_any_pieces(make, stream + OTHER)) == [0.244, 0.3]
    decoder = make()
    decoder.feed(stream + OTHER)
    assert (decoder.tally.damaged, decoder.tally.foreign) == ({}, {})


def test_telegrams_without_a_crc_are_read_where_the_port_s_meter_has_none() -> None:
    decoder = Dsmr(crc=False).decoder()
    assert values(decoder.feed(POWER[:-6] + b"\r\n" + OTHER)) == [0.244, 0.3]
    assert decoder.feed(OTHER.replace(b"300", b"301")) == []
    assert decoder.tally.damaged == {"checksum": 1}


def test_a_quantity_without_a_kind_of_its_own_keeps_that_of_its_first_value() -> None:
    decoder = make()
    first, second = (
        telegram(f"0-0:96.99.1({each})", "1-0:1.7.0(1*kW)") for each in ("12*s", "abc")
    )
    frames = decoder.feed(first + second)
    assert [list(frame.quantities) for frame in frames] == [
        ["0-0:96.99.1", "power_import"],
        ["power_import"],
    ]
    assert decoder.tally.skipped == {"type": 1}


@given(st.lists(st.sampled_from([POWER, OTHER[:30], OTHER[30:], b"/", b"!", b"\r\n", b"/ABC5"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts) + b"\r\n")


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_telegram(noise: list[bytes]) -> None:
    check_good_frame_survives(make, noise, OTHER, make().feed(OTHER))


def with_keys(key: bytes = KEY, authentication_key: bytes | None = AUTHENTICATION_KEY) -> Decoder:
    settings = Dsmr(key_file="key")
    return replace(settings, key=key, authentication_key=authentication_key).decoder()


def test_encrypted_telegrams_are_read_with_their_keys() -> None:
    stream = b"noise" + ciphered(LONG) + b"\r\n" + ciphered(LONG_OTHER, counter=2)
    assert values(check_any_pieces(with_keys, stream)) == [0.244, 0.3]
    assert values(with_keys(authentication_key=None).feed(stream)) == [0.244, 0.3]
    decoder = with_keys()
    decoder.feed(ciphered(LONG.replace(b"244", b"245")))
    assert decoder.tally.damaged == {"checksum": 1}, "its own CRC is checked as well"


def test_a_wrong_key_or_none_is_the_reason_of_the_damage() -> None:
    for decoder in (
        with_keys(AUTHENTICATION_KEY),
        with_keys(AUTHENTICATION_KEY, None),
        with_keys(authentication_key=KEY),
    ):
        assert decoder.feed(ciphered(LONG) * 2) == []
        assert decoder.tally.damaged == {"key": 2}
    for settings in (Dsmr(key_file="key"), Dsmr(), Dsmr(crc=False)):
        decoder = settings.decoder()
        decoder.feed(ciphered(LONG))
        assert decoder.tally.damaged == {"encrypted": 1}


def test_without_a_key_file_encrypted_messages_count_as_encrypted() -> None:
    stream = ciphered(LONG) + b"\r\n" + LONG_OTHER + b"\xdb" + ciphered(LONG, counter=2)
    assert values(check_any_pieces(Dsmr().decoder, stream)) == [0.3]
    decoder = Dsmr().decoder()
    decoder.feed(stream)
    assert decoder.tally.damaged == {"encrypted": 2}
    assert decoder.tally.foreign == {"noise": 1}


def test_an_encrypted_message_longer_than_a_telegram_is_passed_over() -> None:
    decoder = with_keys()
    found = decoder.feed(ciphered(bytes(TELEGRAM_BYTES_MAX + 1))[:100] + ciphered(LONG))
    assert values(found + decoder.flush()) == [0.244]
    assert decoder.tally.damaged["overlong"] == 1


def with_parity(data: bytes) -> bytes:
    return bytes(each | (0x80 if each.bit_count() % 2 else 0) for each in data)


def test_a_telegram_of_7_bits_on_a_line_of_8_names_the_line() -> None:
    decoder = Dsmr(crc=False).decoder()
    for each in with_parity(telegram("1-0:1.8.0(000123.456*kWh)")) * 2:
        assert decoder.feed(bytes((each,))) == []
    assert (decoder.tally.damaged, decoder.tally.foreign) == ({"parity": 2}, {})
    decoder.feed(b"\xaf\x00\x01\x02\x03\x04\x05")
    assert decoder.tally.damaged == {"parity": 2}
