"""The connection of one client: its handshake, its keep-alive and its end."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connack,
    Disconnect,
    Packet,
    Pingreq,
    Properties,
    Puback,
    Publish,
    Suback,
)
from gateway.tools.bench.connection import BenchFailed, Client, packet_bytes_of, packet_of
from tests.tools.bench.lying_broker import LyingBroker, result_of


async def test_a_broker_that_wants_a_keep_alive_is_pinged() -> None:
    properties = Properties()
    properties.server_keep_alive_seconds = 1
    async with LyingBroker(connack=properties) as broker:
        result = await result_of(broker, version=5, rate=100.0, count=150)
        assert any(isinstance(packet, Pingreq) for packet in broker.seen)
    assert result.is_clean


async def test_a_disconnect_of_the_broker_contains_its_reason() -> None:
    def shut(packet: Packet) -> list[Packet] | None:
        # Reason code: Server shutting down
        return [Disconnect(0x8B)] if isinstance(packet, Publish) else None

    async with LyingBroker(answer=shut) as broker:
        with pytest.raises(BenchFailed, match="0x8B"):
            await result_of(broker, version=5)


PACKETS = [
    Connack(False, 0),
    Puback(7),
    Suback(1, [0, 1, 2]),
    Publish("t", b"x" * 200, 1, False, False, 3),
    Publish("t", b"x" * 20_000, 0, False, False, 0),
]


@pytest.mark.parametrize("version", [4, 5])
@given(packet=st.sampled_from(PACKETS), before=st.binary(max_size=9), more=st.binary(max_size=9))
def test_the_size_of_a_packet_is_known_as_soon_as_its_length_has_come(
    version: int, packet: Packet, before: bytes, more: bytes
) -> None:
    whole = encode(packet, version)
    header_bytes = 1 + next(index for index, byte in enumerate(whole[1:], 1) if byte < 0x80)
    data = bytearray(before + whole + more)
    for end in range(min(len(whole), 8) + 1):
        known = packet_bytes_of(data, len(before), len(before) + end, version)
        assert known == (len(whole) if end >= header_bytes else 0)
    assert packet_bytes_of(data, len(before), len(data), version) == len(whole)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("packet", PACKETS)
def test_a_packet_of_the_broker_is_read_as_it_was_written(version: int, packet: Packet) -> None:
    assert encode(packet_of(encode(packet, version), version), version) == encode(packet, version)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\xff", b"\x20\xff\xff\xff\xff"])
def test_a_length_that_has_no_end_is_malformed(data: bytes) -> None:
    with pytest.raises(BenchFailed, match="malformed packet"):
        packet_bytes_of(bytearray(data), 0, len(data), 4)


def test_a_packet_that_no_broker_may_send_is_malformed() -> None:
    with pytest.raises(BenchFailed, match="malformed packet"):
        packet_of(b"\x20\x02\x02\x00", 4)


def test_a_handshake_may_come_in_pieces_with_the_next_packet_after_it() -> None:
    client = Client("c", 4)
    ours, theirs = socket.socketpair()
    client.use(ours)
    with theirs:
        theirs.sendall(encode(Connack(False, 0), 4) + encode(Suback(1, [0]), 4)[:2])
        assert isinstance(client.wait_for_packet("CONNACK"), Connack)
        assert bytes(client.partial) == encode(Suback(1, [0]), 4)[:2]
        theirs.sendall(encode(Suback(1, [0]), 4)[2:])
        assert isinstance(client.wait_for_packet("SUBACK"), Suback)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(BenchFailed, match="c: the broker closed instead of SUBACK"):
            client.wait_for_packet("SUBACK")
    client.close()


def test_a_session_that_is_to_be_kept_ends_by_itself_an_hour_after_a_crash() -> None:
    kept = Client("c", 5).connect_of(
        keeps_session=True, receive_maximum=9, username=None, password=None
    )
    assert not kept.clean_start
    assert kept.properties is not None
    assert kept.properties.session_expiry_interval_seconds == 3_600
    assert kept.properties.receive_maximum == 9
    old = Client("c", 4).connect_of(
        keeps_session=True, receive_maximum=9, username=None, password=None
    )
    assert old.properties is None


def test_leaving_a_broker_that_is_gone_is_no_error() -> None:
    client = Client("c", 4)
    client.disconnect()
    ours, theirs = socket.socketpair()
    client.use(ours)
    theirs.close()
    client.disconnect()
    with pytest.raises(AssertionError, match="c has not been connected"):
        _ = client.connection
