"""Every kind of malformed packet is reported, with the same reason for any split of its bytes."""

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.malformed import REASONS
from tests.broker.wire.malformed_vector import Bad, error_of
from tests.broker.wire.malformed_vectors import MALFORMED
from tests.broker.wire.notation import frame

MAX_PACKET_SIZE_BYTES = 1_048_576
GOOD = {"client": b"\xc0\x00", "server": b"\xd0\x00"}
CONNECT_3_1_1 = frame("10", "0004 'MQTT' 04 02 003c 0000")

every_mistake = pytest.mark.parametrize(
    "bad", [pytest.param(bad, id=f"{bad.name}, {bad.version}") for bad in MALFORMED]
)


def decoder_of(bad: Bad) -> Decoder:
    side = "server" if bad.sender == "client" else "client"
    return Decoder(MAX_PACKET_SIZE_BYTES, bad.version, side)  # type: ignore[arg-type]


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
    # A control character is an error only if the decoder is configured to refuse it.
    assert {bad.reason for bad in MALFORMED} == set(REASONS) - {"control_character"}


def test_an_error_does_not_keep_the_bytes_of_the_peer_alive() -> None:
    for bad in MALFORMED:
        decoder = decoder_of(bad)
        decoder.feed(bad.wire)
        error = error_of(decoder)
        assert error.__traceback__ is None, bad.name
        assert error.__context__ is None, bad.name
