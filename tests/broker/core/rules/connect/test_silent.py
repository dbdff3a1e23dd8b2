"""Connections without a CONNECT make room for others when the limit for connections is reached."""

from gateway.broker.core.rules.connect.silent import SILENT_MAX, SILENT_SECONDS
from gateway.broker.core.sessions.share import Share
from gateway.broker.wire.packets import Connack, Connect
from tests.broker.core.harness import Client, Harness


def connected(harness: Harness, client: Client, client_id: str) -> list[int]:
    client.send(Connect(4, client_id, True, 0, None, None, None))
    harness.commit()
    return [each.reason_code for each in client.take() if isinstance(each, Connack)]


def test_a_client_that_connects_takes_the_place_of_the_oldest_silent_connection(
    harness: Harness,
) -> None:
    harness.limits.max_connections = 3
    silent = [harness.open_connection() for _ in range(3)]
    assert connected(harness, harness.open_connection(), "a") == [0]
    assert [each.closed for each in silent] == [True, False, False]
    assert connected(harness, harness.open_connection(), "b") == [0]
    assert [each.closed for each in silent] == [True, True, False]
    assert harness.broker.statistics.errors == {"silent_connection": 2}


def test_a_client_that_has_connected_gives_way_to_no_other(harness: Harness) -> None:
    harness.limits.max_connections = 2
    first, second = harness.connect("a"), harness.connect("b")
    assert connected(harness, harness.open_connection(), "c") == [3]
    assert not first.closed
    assert not second.closed


def test_a_connection_that_was_just_made_gives_way_to_a_connect_only(harness: Harness) -> None:
    young = harness.open_connection()
    assert not harness.broker.close_silent(harness.now)
    harness.advance(SILENT_SECONDS)
    assert harness.broker.close_silent(harness.now)
    assert young.closed
    assert not harness.broker.close_silent(harness.now)


def test_of_a_flood_of_silent_connections_the_oldest_gives_way_immediately(
    harness: Harness,
) -> None:
    flood = [harness.open_connection() for _ in range(SILENT_MAX + 1)]
    assert harness.broker.close_silent(harness.now)
    assert [each.closed for each in flood] == [True] + [False] * SILENT_MAX
    assert not harness.broker.close_silent(harness.now)


def test_a_silent_connection_of_another_listener_keeps_its_place(harness: Harness) -> None:
    other, own = Share(5), Share(1)
    broker = harness.broker
    elsewhere = broker.accept("1", True, harness.now, other)
    here = broker.accept("2", True, harness.now, own)
    newcomer = Client(harness, broker.accept("3", True, harness.now, own), 4)
    harness.clients[newcomer.connection] = newcomer
    assert connected(harness, newcomer, "c") == [0]
    assert elsewhere.is_open
    assert not here.is_open
