"""The first byte and the remaining length: permitted senders, and early refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.fixed_header import check_first_byte, long_remaining_length
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.writing import variable_byte_integer
from tests.broker.wire.malformed_vector import error_of

MAX_PACKET_SIZE_BYTES = 1_048_576


def test_tls_and_http_on_a_plain_port_are_recognised() -> None:
    for start, word in ((b"\x16\x03\x01", "TLS"), (b"GET / HTTP/1.1\r\n", "WebSocket")):
        decoder = Decoder(MAX_PACKET_SIZE_BYTES)
        decoder.feed(start)
        assert word in error_of(decoder).detail


def test_a_first_byte_that_cannot_come_is_refused_before_the_rest_is_waited_for() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    decoder.feed(b"\x30")
    assert error_of(decoder).reason == "unexpected_packet"


FIRST_BYTES = {
    # From tables 2.1 and 2.2 of the standards; for PUBLISH with every combination of flags.
    ("client", 4): {0x40, 0x50, 0x62, 0x70, 0x82, 0xA2, 0xC0, 0xE0},
    ("client", 5): {0x40, 0x50, 0x62, 0x70, 0x82, 0xA2, 0xC0, 0xE0, 0xF0},
    ("client", 3): {0x40, 0x50, 0x62, 0x6A, 0x70, 0x82, 0x8A, 0xA2, 0xAA, 0xC0, 0xE0},
    ("server", 4): {0x20, 0x40, 0x50, 0x62, 0x70, 0x90, 0xB0, 0xD0},
    ("server", 5): {0x20, 0x40, 0x50, 0x62, 0x70, 0x90, 0xB0, 0xD0, 0xE0, 0xF0},
}
PUBLISHES = {0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x3A, 0x3B, 0x3C, 0x3D}


@pytest.mark.parametrize(("sender", "version"), list(FIRST_BYTES))
def test_each_of_the_256_first_bytes_may_come_only_from_who_may_send_it(
    sender: str, version: int
) -> None:
    allowed = set()
    for first in range(256):
        try:
            check_first_byte(first, version, sender == "client")
        except Malformed:
            continue
        allowed.add(first)
    assert allowed == FIRST_BYTES[sender, version] | PUBLISHES


@given(value=st.integers(128, 268_435_455), before=st.integers(0, 3), behind=st.binary(max_size=5))
def test_a_long_remaining_length_is_read_wherever_the_packet_begins(
    value: int, before: int, behind: bytes
) -> None:
    length = variable_byte_integer(value)
    data = b"." * before + b"\x30" + length + behind
    end = before + 1 + len(length)
    assert long_remaining_length(data, before, len(data), 5, True) == (value, end)
    for cut in range(before + 1, end):
        assert long_remaining_length(data, before, cut, 5, True)[1] == -1
