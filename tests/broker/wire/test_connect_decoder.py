"""Decoding of CONNECT in every version, and the details that a refusal shows."""

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.kinds import CONNECT
from tests.broker.wire.alternative_vectors import ALTERNATIVES
from tests.broker.wire.malformed_vector import error_of
from tests.broker.wire.notation import frame
from tests.broker.wire.vector_cases import Case, Reading, cases, every_reading
from tests.broker.wire.vectors import VECTORS

MAX_PACKET_SIZE_BYTES = 1_048_576


@every_reading
@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES], CONNECT))
def test_a_connect_is_decoded_however_its_bytes_come(case: Case, read: Reading) -> None:
    read(case)


def test_an_unsupported_protocol_states_which_level_was_asked_for() -> None:
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


def test_no_detail_shows_a_password() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    decoder.feed(frame("10", "0004 'MQTT' 04 c2 003c 0000 0001 'u' 0006 'secret' 00"))
    assert "secret" not in error_of(decoder).detail
