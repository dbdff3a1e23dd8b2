"""The Decoder on a stream: split bytes, memory and frames."""

import tracemalloc

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import publish_frame
from gateway.broker.wire.packets import Connect, Publish
from gateway.broker.wire.values import topic_field_of
from tests.broker.wire.malformed_vector import error_of
from tests.broker.wire.notation import frame

TWO_MEBIBYTES = 2 * 1024 * 1024
MAX_PACKET_SIZE_BYTES = TWO_MEBIBYTES + 100
CONNECT_3_1_1 = frame("10", "0004 'MQTT' 04 02 003c 0000")


def publish_of(packets: object) -> Publish:
    assert isinstance(packets, list)
    packet = packets[0]
    assert isinstance(packet, Publish)
    return packet


@pytest.mark.parametrize(
    ("wire", "version"),
    [
        (frame("10", "0006 'MQIsdp' 03 02 003c 0001 'a'"), 3),
        (frame("10", "0004 'MQTT' 04 02 003c 0001 'a'"), 4),
        (frame("10", "0004 'MQTT' 05 02 003c 00 0001 'a'"), 5),
    ],
)
def test_connect_sets_the_version_of_what_follows_it(wire: bytes, version: int) -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    topic = topic_field_of("a")
    following = publish_frame(topic, b"x", 1, False, False, 9, version, None)
    packets = decoder.feed(wire + following)
    assert decoder.error is None
    assert isinstance(packets[0], Connect)
    assert packets[1] == Publish("a", b"x", 1, False, False, 9)
    assert decoder.version == version


def test_a_packet_of_two_mebibytes_may_come_in_single_bytes() -> None:
    # Quadratic copying would take hours here and exceed the time limit of the suite.
    wire = publish_frame(topic_field_of("a"), b"p" * TWO_MEBIBYTES, 0, False, False, 0, 4)
    decoder = Decoder(MAX_PACKET_SIZE_BYTES, 4)
    for index in range(len(wire) - 1):
        decoder.feed(wire[index : index + 1])
    publish = publish_of(decoder.feed(wire[-1:]))
    assert len(publish.payload) == TWO_MEBIBYTES
    assert publish.frame == wire


def test_a_declared_size_takes_no_memory_before_its_bytes_come() -> None:
    decoder = Decoder(268_435_460, 4)
    tracemalloc.start()
    try:
        decoder.feed(b"\x30\xff\xff\xff\x7f" + b"\x00\x01a" + b"p" * 1000)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decoder.error is None
    assert peak_bytes < 100_000


def test_many_packets_in_pieces_of_every_size_come_out_in_order() -> None:
    wire = b"".join(
        publish_frame(topic_field_of(f"t/{index}"), b"p" * index, 1, False, False, index, 4)
        for index in range(1, 200)
    )
    for size_bytes in (1, 2, 3, 7, 64, 127, 1000, len(wire)):
        decoder = Decoder(MAX_PACKET_SIZE_BYTES, 4)
        seen: list[str] = []
        for start in range(0, len(wire), size_bytes):
            for packet in decoder.feed(wire[start : start + size_bytes]):
                assert isinstance(packet, Publish)
                assert len(packet.payload) == packet.packet_id
                seen.append(packet.topic)
        assert seen == [f"t/{index}" for index in range(1, 200)]
        assert decoder.error is None


def test_nothing_comes_of_nothing() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES, 4)
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\xc0") == []
    assert decoder.feed(b"") == []
    assert len(decoder.feed(b"\x00")) == 1
    assert decoder.error is None


def test_a_publish_with_a_needless_length_byte_is_handed_on_without_it() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES, 4)
    publish = publish_of(decoder.feed(b"\x30\x84\x80\x00\x00\x01ax"))
    assert publish == Publish("a", b"x", 0, False, False, 0)
    assert publish.frame == b"\x30\x04\x00\x01ax"


def test_a_client_has_to_know_the_version_it_speaks() -> None:
    with pytest.raises(AssertionError, match="needs the version"):
        Decoder(MAX_PACKET_SIZE_BYTES, 0, "client")
    with pytest.raises(AssertionError, match="protocol level 6"):
        Decoder(MAX_PACKET_SIZE_BYTES, 6)


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
    assert decoder.error is None, "its answer depends on the protocol level"
    decoder.feed(b"\x00\x04MQTT\x05")
    assert error_of(decoder).protocol_level == 5
    assert error_of(decoder).reason == "packet_too_large"


def test_the_maximum_packet_size_applies_after_connect() -> None:
    decoder = Decoder(2_000_000)
    large = publish_frame(b"\x00\x01a", b"x" * 1_000_000, 0, False, False, 0, 4, None)
    assert len(decoder.feed(CONNECT_3_1_1 + large)) == 2
    assert decoder.error is None


def test_an_error_after_connect_in_the_same_bytes_leaves_the_connect() -> None:
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    assert len(decoder.feed(CONNECT_3_1_1 + CONNECT_3_1_1)) == 1
    assert "a second CONNECT" in error_of(decoder).detail
    assert decoder.version == 4
