"""Every way of being wrong is named, and named alike for any split of the bytes."""

import pytest

from gateway.wire.decoder import Decoder
from gateway.wire.encoder import publish_frame
from gateway.wire.malformed import REASONS, Malformed
from tests.wire.malformed_vector import Bad
from tests.wire.malformed_vectors import MALFORMED
from tests.wire.notation import frame

MAX_PACKET_SIZE_BYTES = 1_048_576
GOOD = {"client": b"\xc0\x00", "server": b"\xd0\x00"}
CONNECT_3_1_1 = frame("10", "0004 'MQTT' 04 02 003c 0000")

every_mistake = pytest.mark.parametrize(
    "bad", [pytest.param(bad, id=f"{bad.name}, {bad.version}") for bad in MALFORMED]
)


def decoder_of(bad: Bad) -> Decoder:
    side = "server" if bad.sender == "client" else "client"
    return Decoder(MAX_PACKET_SIZE_BYTES, bad.version, side)  # type: ignore[arg-type]


def error_of(decoder: Decoder) -> Malformed:
    assert decoder.error is not None
    return decoder.error


@every_mistake
def test_a_mistake_is_named(bad: Bad) -> None:
    decoder = decoder_of(bad)
    assert decoder.feed(bad.wire) == []
    error = error_of(decoder)
    assert (error.reason, hex(error.reason_code)) == (bad.reason, hex(bad.reason_code))
    assert len(error.detail) > 20


@every_mistake
def test_a_mistake_is_named_alike_byte_by_byte(bad: Bad) -> None:
    whole = decoder_of(bad)
    whole.feed(bad.wire)
    decoder = decoder_of(bad)
    for index in range(len(bad.wire)):
        assert decoder.feed(bad.wire[index : index + 1]) == []
    error = error_of(decoder)
    assert error.detail == error_of(whole).detail
    assert (error.reason, error.reason_code) == (bad.reason, bad.reason_code)


@pytest.mark.parametrize("bad", [bad for bad in MALFORMED if bad.version])
def test_the_packets_before_a_mistake_are_kept_and_nothing_after_it(bad: Bad) -> None:
    decoder = decoder_of(bad)
    good = GOOD[bad.sender]
    assert len(decoder.feed(good + good + bad.wire + good)) == 2
    assert error_of(decoder).reason == bad.reason
    first = decoder.error
    assert decoder.feed(good) == []
    assert decoder.feed(b"\x00\x00") == []
    assert decoder.error is first


def test_every_reason_has_a_vector_and_every_vector_a_reason() -> None:
    # A control character is wrong only where the decoder is told so.
    assert {bad.reason for bad in MALFORMED} == set(REASONS) - {"control_character"}


def test_an_unsupported_protocol_says_which_level_was_asked_for() -> None:
    for level in (0, 1, 2, 3, 6, 0x83, 0x84, 255):
        decoder = Decoder(MAX_PACKET_SIZE_BYTES)
        decoder.feed(frame("10", f"0004 'MQTT' {level:02x} 02 003c 0000"))
        error = error_of(decoder)
        assert (error.reason, error.protocol_level) == ("unsupported_protocol", level)
        assert str(level) in error.detail


def test_a_foreign_protocol_name_is_shown_without_letting_it_fill_the_log() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    decoder.feed(frame("10", "0064") + b"\n" * 98)
    assert error_of(decoder).reason == "field_truncated"
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    decoder.feed(bytes([0x10, 105]) + b"\x00\x64" + b"\n" * 100 + b"\x04\x02\x00")
    error = error_of(decoder)
    assert error.reason == "unsupported_protocol"
    assert "\n" not in error.detail
    assert len(error.detail) < 300


def test_tls_and_http_on_a_plain_port_are_recognised() -> None:
    for start, word in ((b"\x16\x03\x01", "TLS"), (b"GET / HTTP/1.1\r\n", "WebSocket")):
        decoder = Decoder(MAX_PACKET_SIZE_BYTES)
        decoder.feed(start)
        assert word in error_of(decoder).detail


def test_a_first_byte_that_cannot_come_is_refused_before_the_rest_is_waited_for() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    decoder.feed(b"\x30")
    assert error_of(decoder).reason == "unexpected_packet"


def test_an_oversize_packet_is_refused_with_its_fixed_header() -> None:
    decoder = Decoder(100, 4)
    assert decoder.feed(b"\x30") == []
    assert decoder.error is None
    decoder.feed(b"\x63")
    assert error_of(decoder).reason == "packet_too_large"
    assert "101 bytes" in error_of(decoder).detail


def test_a_packet_of_exactly_the_maximum_size_is_accepted() -> None:
    decoder = Decoder(100, 4)
    assert len(decoder.feed(b"\x30\x62\x00\x01a" + b"x" * 95)) == 1
    assert decoder.error is None


def test_a_peer_without_a_connect_cannot_make_us_hold_a_large_packet() -> None:
    decoder = Decoder(268_435_460)
    decoder.feed(b"\x10\xfc\xff\x1f")
    assert decoder.error is None
    decoder = Decoder(268_435_460)
    decoder.feed(b"\x10\xfd\xff\x1f")
    assert error_of(decoder).reason == "packet_too_large"


def test_the_maximum_packet_size_applies_after_connect() -> None:
    decoder = Decoder(2_000_000)
    large = publish_frame(b"\x00\x01a", b"x" * 1_000_000, 0, False, False, 0, 4, None)
    assert len(decoder.feed(CONNECT_3_1_1 + large)) == 2
    assert decoder.error is None


def test_an_error_does_not_keep_the_bytes_of_the_peer_alive() -> None:
    for bad in MALFORMED:
        decoder = decoder_of(bad)
        decoder.feed(bad.wire)
        error = error_of(decoder)
        assert error.__traceback__ is None, bad.name
        assert error.__context__ is None, bad.name


def test_an_error_after_connect_in_the_same_bytes_leaves_the_connect() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    assert len(decoder.feed(CONNECT_3_1_1 + CONNECT_3_1_1)) == 1
    assert "a second CONNECT" in error_of(decoder).detail
    assert decoder.version == 4


def test_no_detail_shows_a_password() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    decoder.feed(frame("10", "0004 'MQTT' 04 c2 003c 0000 0001 'u' 0006 'secret' 00"))
    assert "secret" not in error_of(decoder).detail


@pytest.mark.parametrize("code", [0x01, 0x1F, 0x7F, 0x80, 0x9F, 0x20, 0x7E, 0xA0])
@pytest.mark.parametrize("allows", [False, True])
def test_a_control_character_in_a_topic_is_refused_unless_it_is_allowed(
    code: int, allows: bool
) -> None:
    topic = f"a{chr(code)}b".encode()
    body = len(topic).to_bytes(2, "big") + topic
    for _ in range(2):  # what was decoded once is remembered
        decoder = Decoder(100, 4, allows_control_characters=allows)
        packets = decoder.feed(b"\x30" + bytes([len(body)]) + body)
        is_refused = not allows and code not in (0x20, 0x7E, 0xA0)
        assert (len(packets), decoder.error is not None) == (not is_refused, is_refused)
