"""The bytes of each hostile client contain the one error that they are named after."""

import sys

import pytest

from gateway.broker.server.listeners.handshake import Handshake
from gateway.broker.server.listeners.proxy_header import header_of
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Connect, Publish
from tests.instruments.benchmarks.hostile.packets import (
    MALFORMED,
    authentication,
    connect5,
    deep_topic,
    handshake,
    long_topic,
    mixed_filters,
    proxy_header,
    publish_with_alias,
    session_expiry,
    unfinished,
)
from tests.peers.mqtt_bytes import PINGREQ, Kind, PacketReader, connect, publish


def decoded(data: bytes, version: int) -> Decoder:
    decoder = Decoder(4 << 20, version)
    list(decoder.feed(data))
    return decoder


# -- bytes


def test_a_publish_with_an_alias_and_a_connect_with_properties_are_what_they_say() -> None:
    decoder = Decoder(1 << 20, 5)
    (packet,) = decoder.feed(publish_with_alias("a/b", 7, b"x"))
    assert isinstance(packet, Publish)
    assert (packet.topic, packet.payload, packet.properties.topic_alias) == ("a/b", b"x", 7)  # type: ignore[union-attr]
    wanted = session_expiry(60) + authentication("SCRAM-SHA-256", b"n,,")
    (packet,) = Decoder(1 << 20).feed(connect5("c", clean=False, properties=wanted))
    assert isinstance(packet, Connect)
    assert packet.properties is not None
    assert packet.properties.session_expiry_interval_seconds == 60
    assert packet.properties.authentication_method == "SCRAM-SHA-256"
    assert packet.properties.authentication_data == b"n,,"


@pytest.mark.parametrize("data", MALFORMED, ids=bytes.hex)
def test_each_malformed_packet_is_one_mistake_by_itself(data: bytes) -> None:
    assert decoded(data, 4).error is not None


def test_an_unfinished_packet_is_no_mistake_and_no_packet() -> None:
    whole = publish("t", bytes(1_000))
    decoder = Decoder(1 << 20, 4)
    assert list(decoder.feed(unfinished(whole))) == []
    assert decoder.error is None
    assert len(list(decoder.feed(whole[-1:]))) == 1


def test_a_long_topic_has_its_bytes_on_the_wire_and_four_times_as_many_in_memory() -> None:
    topic = long_topic(12, 64_000)
    assert len(topic) == 64_000
    assert sys.getsizeof(topic.decode()) > 4 * 63_000
    assert topic != long_topic(13, 64_000)


def test_mixed_filters_are_different_and_match_one_deep_topic() -> None:
    filters = list(mixed_filters(1_000, 128))
    assert len(set(filters)) == 1_000
    topic = deep_topic("a", 128).split("/")
    assert len(topic) == 128
    for one in filters:
        levels = one.split("/")
        assert len(levels) == 128
        assert all(level in ("+", name) for level, name in zip(levels, topic, strict=True))


def test_a_proxy_header_is_whole_with_its_last_byte_and_carries_any_name() -> None:
    whole = proxy_header(b"\xff\xfe")
    header = header_of(whole + b"rest")
    assert header is not None
    assert header.length_bytes == len(whole)
    assert header_of(unfinished(whole)) is None


def test_a_handshake_is_accepted_where_its_host_is_a_name() -> None:
    answer = Handshake(()).receive(handshake(b"localhost", origin=b"http://localhost"))
    assert answer is not None
    assert answer.refusal is None


def test_packets_are_found_however_the_bytes_are_cut() -> None:
    data = publish("topic", bytes(200), qos=1, packet_id=3) + PINGREQ + connect("c")
    reader = PacketReader()
    packets = [packet for byte in data for packet in reader.feed(bytes([byte]))]
    assert [packet.kind for packet in packets] == [Kind.PUBLISH, Kind.PINGREQ, Kind.CONNECT]
    assert packets[0].payload == bytes(200)
    assert list(PacketReader().feed(data)) == packets
