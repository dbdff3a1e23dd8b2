"""Connections beyond a listener's limit, and bytes that arrive in pieces of any size."""

from pathlib import Path

import pytest

from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.receive import REFUSED_CONNECTIONS_MAX
from gateway.broker.core.sessions.share import Share
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Packet,
    Pingreq,
    Pingresp,
    Publish,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.mqtt5 import end_of, properties


def at(harness: Harness, share: Share | None, version: int = 4) -> Client:
    connection = harness.broker.accept("127.0.0.1:1", True, harness.now, share)
    client = Client(harness, connection, version)
    harness.clients[connection] = client
    return client


def connect(client: Client, client_id: str) -> int:
    client.send(Connect(client.version, client_id, True, 0, None, None, None))
    client.harness.commit()
    (connack,) = client.take()
    assert isinstance(connack, Connack)
    return connack.reason_code


@pytest.mark.parametrize(("version", "code"), [(4, 0x03), (5, 0x88)])
def test_a_connection_beyond_its_listeners_share_receives_server_unavailable(
    tmp_path: Path, version: int, code: int
) -> None:
    harness = Harness(tmp_path)
    share = Share(2)
    assert [connect(at(harness, share), name) for name in "ab"] == [0, 0]
    refused = at(harness, share, version)
    assert connect(refused, "c") == code
    assert refused.closed
    statistics = harness.broker.statistics
    assert statistics.errors == {"max_connections": 1}
    assert statistics.connections_refused == 1
    assert connect(at(harness, None), "d") == 0, "another listener has places"


def test_a_place_that_becomes_free_at_a_listener_is_given_again(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    share = Share(1)
    first = at(harness, share)
    assert connect(first, "a") == 0
    waiting = at(harness, share)
    harness.broker.connection_lost(first.connection, CloseReason.NETWORK, harness.now)
    assert connect(waiting, "b") == 0
    assert share.connections_open == 1


def test_connections_far_beyond_a_share_are_cut_immediately(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    share = Share(1)
    clients = [at(harness, share) for _ in range(REFUSED_CONNECTIONS_MAX + 2)]
    assert [client.closed for client in clients].index(True) == REFUSED_CONNECTIONS_MAX + 1
    assert share.connections_open == REFUSED_CONNECTIONS_MAX + 1


VERSIONS = [3, 4, 5]


every_version = pytest.mark.parametrize("version", VERSIONS)


def session_of(version: int) -> bytes:
    """Return all packets of one client, CONNECT first, as bytes."""
    named = properties(user_properties=[("k", "v")]) if version == 5 else None
    packets: list[Packet] = [
        Connect(version, "c", True, 60, Will("w", b"gone", 1, False), "u", b"p", named),
        Subscribe(1, [Subscription("t", 0), Subscription("u", 1)], named),
        Publish("t", b"0", 0, False, False, 0, named),
        Publish("t", b"1", 1, False, False, 2),
        Publish("t", b"2", 2, False, False, 3, named),
        Pubrel(3),
        Pingreq(),
        Unsubscribe(4, ["t"]),
    ]
    return b"".join(encode(packet, version) for packet in packets)


def received(client: Client) -> list[Packet]:
    """Check that PINGRESP and the payloads arrived, at any place; return the other packets."""
    packets = client.take()
    assert packets.count(Pingresp()) == 1
    assert payloads(packets) == [b"0", b"1", b"2"]
    return [packet for packet in packets if not isinstance(packet, Pingresp | Publish)]


@every_version
@pytest.mark.parametrize("commits", [False, True])
def test_a_session_cut_at_any_byte_is_answered_like_a_whole_one(
    harness: Harness, version: int, commits: bool
) -> None:
    wire = session_of(version)
    expected: list[Packet] = []
    watch = harness.subscriber("watch", "w", 0)
    for at in range(len(wire) + 1):
        client = harness.open_connection(version)
        client.send_bytes(wire[:at])
        if commits:
            harness.commit()
        client.send_bytes(wire[at:])
        harness.commit()
        answered = received(client)
        expected = expected or answered
        assert answered == expected, f"cut before byte {at}"
        harness.lose(client)
        harness.commit()
        assert payloads(watch.take()) == [b"gone"]


@every_version
@pytest.mark.parametrize("size_bytes", [1, 2, 3, 7, 64])
def test_a_session_in_pieces_of_any_size_is_answered_like_a_whole_one(
    harness: Harness, version: int, size_bytes: int
) -> None:
    wire = session_of(version)
    answers = []
    for size in (len(wire), size_bytes):
        client = harness.open_connection(version)
        for start in range(0, len(wire), size):
            client.send_bytes(wire[start : start + size])
        harness.commit()
        answers.append(received(client))
    assert answers[0] == answers[1]


@every_version
def test_a_thousand_packets_in_one_segment_are_all_answered_in_order(
    harness: Harness, version: int
) -> None:
    harness.limits.max_awaiting_rel = 1_000  # also the receive maximum for 5.0
    watch = harness.subscriber("watch", "t", 1)
    client = harness.connect("c", clean=True, version=version)
    client.take()
    client.send(*(Publish("t", b"%d" % n, 1, False, False, n) for n in range(1, 1_001)))
    harness.commit()
    answers = [getattr(packet, "packet_id", 0) for packet in client.take()]
    assert answers == list(range(1, 1_001))
    # The window of the subscriber admits 32 messages; the rest is queued.
    assert payloads(watch.take()) == [b"%d" % n for n in range(1, 33)]
    assert harness.session("watch").queued_count == 1_000 - 32


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_packet_above_the_maximum_ends_the_connection_at_its_header(
    harness: Harness, version: int
) -> None:
    client = harness.connect("c", version=version)
    client.take()
    largest = harness.limits.max_packet_size_bytes
    assert largest == 2 * 1024 * 1024
    client.send_bytes(b"\x30\xfc\xff\x7f")  # with its header exactly the maximum packet size
    harness.commit()
    assert not client.closed
    client = harness.connect("d", version=version)
    client.take()
    client.send_bytes(b"\x30\xfd\xff\x7f")
    harness.commit()
    assert client.closed
    if version == 5:
        assert end_of(client) == 0x95
    else:
        assert client.take() == []
