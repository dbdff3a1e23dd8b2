"""A listener's share of the connections: who gets a place, who is told no, who is cut at once."""

from pathlib import Path

import pytest

from gateway.core.records.kinds import CloseReason
from gateway.core.rules.receive import REFUSED_CONNECTIONS_MAX
from gateway.core.sessions.connection import ConnectionShare
from gateway.wire.packets import Connack, Connect
from tests.core.harness import Client, Harness


def at(harness: Harness, share: ConnectionShare | None, version: int = 4) -> Client:
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
def test_a_connection_beyond_its_listeners_share_is_told_that_the_server_is_unavailable(
    tmp_path: Path, version: int, code: int
) -> None:
    harness = Harness(tmp_path)
    share = ConnectionShare(2)
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
    share = ConnectionShare(1)
    first = at(harness, share)
    assert connect(first, "a") == 0
    waiting = at(harness, share)
    harness.broker.lose(first.connection, CloseReason.NETWORK, harness.now)
    assert connect(waiting, "b") == 0
    assert share.connections_open == 1


def test_connections_far_beyond_a_share_are_cut_at_once(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    share = ConnectionShare(1)
    clients = [at(harness, share) for _ in range(REFUSED_CONNECTIONS_MAX + 2)]
    assert [client.closed for client in clients].index(True) == REFUSED_CONNECTIONS_MAX + 1
    assert share.connections_open == REFUSED_CONNECTIONS_MAX + 1
