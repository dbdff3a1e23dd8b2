"""Memory limits for thousands of connections that each stay within their own limits."""

import pytest

from gateway.broker.core.incoming import ALIASES_BYTES_FREE
from gateway.broker.core.limits import HELD_BYTES_FREE, WILL_BYTES_FREE
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Publish,
    Pubrec,
    Pubrel,
    Subscription,
    Will,
)
from tests.broker.core.harness import Client, Harness
from tests.broker.core.mqtt5 import connect, end_of, properties, publish, subscribe

WHOLE = encode(Publish("t", b"x" * 50_000, 1, False, False, 1), 5)


@pytest.fixture(autouse=True)
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.broker.core.incoming.PARTS_BYTES_MAX", 100_000)
    monkeypatch.setattr("gateway.broker.core.incoming.ALIASES_BYTES_MAX", 50_000)
    monkeypatch.setattr("gateway.broker.core.rules.connect.connect.WILLS_BYTES_MAX", 50_000)
    monkeypatch.setattr("gateway.broker.core.rules.publish.qos2_receive.HELD_BYTES_MAX", 50_000)


@pytest.fixture
def narrow(harness: Harness) -> Harness:
    harness.limits.max_packet_size_bytes = 50_100
    return harness


def test_of_many_who_do_not_end_their_packets_those_go_who_have_begun_first(
    narrow: Harness,
) -> None:
    calm = connect(narrow, "calm", expiry=0)
    clients = [connect(narrow, str(number), expiry=0) for number in range(6)]
    for client in clients:
        client.send_bytes(WHOLE[:30_000])
        calm.send_bytes(WHOLE)
    narrow.commit()
    assert [client.closed for client in clients] == [True] * 3 + [False] * 3
    assert end_of(clients[0]) == 0x97
    assert not calm.closed, "its packets come to an end"
    assert narrow.broker.core.incoming.parts_bytes == 90_000
    assert narrow.broker.statistics.errors == {"parts_bytes": 3}
    for client in clients[3:]:
        client.send_bytes(WHOLE[30_000:])
    assert narrow.broker.core.incoming.parts_bytes == 0
    assert narrow.broker.core.incoming.parts == {}


def test_who_has_not_said_connect_counts_as_well(narrow: Harness) -> None:
    data = encode(Connect(4, "c", True, 0, Will("w", b"x" * 45_000, 0, False), None, None), 4)
    clients = [narrow.open_connection() for _ in range(4)]
    for client in clients:
        for start in range(0, 40_000, 10_000):
            client.send_bytes(data[start : start + 10_000])
    assert [client.closed for client in clients] == [True, True, False, False]
    for client in clients[2:]:
        narrow.lose(client)
    assert narrow.broker.core.incoming.parts_bytes == 0


def test_packets_behind_a_connect_whose_password_is_checked_count_as_they_will_weigh(
    narrow: Harness,
) -> None:
    narrow.broker.core.authenticates = True
    clients = [narrow.open_connection() for _ in range(4)]
    for client in clients:
        client.send(Connect(4, "c", True, 0, None, "user", b"password"))
        client.send_bytes(b"\xc0\x00" * 500)
    assert [client.closed for client in clients] == [True, True, True, False]


def give(client: Client, alias: int, topic_bytes: int) -> None:
    topic = f"{alias:02}" + "x" * (topic_bytes - 2)
    client.send(Publish(topic, b"", 0, False, False, 0, properties(topic_alias=alias)))


def test_long_topics_with_numbers_are_bounded_over_all_connections(harness: Harness) -> None:
    calm = connect(harness, "calm", expiry=0)
    clients = [connect(harness, str(number), expiry=0) for number in range(4)]
    for client in clients:
        give(client, 1, 10_000)
        give(client, 1, 10_000)  # replaces the first topic
    harness.commit()
    assert [client.closed for client in clients] == [False, False, False, True]
    assert end_of(clients[3]) == 0x97
    for alias in range(1, 16):
        give(calm, alias, 10)
    assert not calm.closed, f"{ALIASES_BYTES_FREE} bytes are free"
    harness.lose(clients[0])
    give(calm, 16, 8_000)
    assert not calm.closed
    for client in (calm, *clients[1:3]):
        harness.lose(client)
    assert harness.broker.core.incoming.aliases_bytes == 0
    assert harness.broker.core.incoming.aliases == {}


def test_topics_get_a_number_towards_a_client_only_if_they_are_short(harness: Harness) -> None:
    client = connect(harness, "c", expiry=0, topic_alias_maximum=10)
    subscribe(harness, client, Subscription("#", 0))
    publisher = connect(harness, "p", expiry=0)
    for topic in ("short", "x" * 300):
        publish(harness, publisher, topic, b"x", 0)
    assert list(client.connection.aliases_out) == ["short"]


@pytest.mark.parametrize(("version", "code"), [(4, 3), (5, 0x97)])
def test_large_wills_are_bounded_over_all_clients(
    harness: Harness, version: int, code: int
) -> None:
    large = Will("w", b"x" * 20_000, 0, False)
    for number in range(2):
        harness.connect(str(number), will=large, version=5)
    client = harness.connect("large", will=large, version=version)
    assert client.take() == [Connack(False, code)]
    small = Will("w", b"x" * (WILL_BYTES_FREE - 4), 0, False)
    assert not harness.connect("small", will=small).closed
    harness.cut()
    assert harness.broker.state.wills_bytes == 0, "published when the broker came back"


def test_held_messages_are_bounded_over_all_sessions(harness: Harness) -> None:
    clients = [connect(harness, str(number)) for number in range(4)]
    for client in clients:
        publish(harness, client, "t", b"x" * 20_000, 2)
    assert [client.take()[-1] for client in clients[1:]] == [
        Pubrec(2, 0x10),
        Pubrec(2, 0x97),
        Pubrec(2, 0x97),
    ]
    publish(harness, clients[3], "t", b"x" * (HELD_BYTES_FREE - 100), 2)
    assert clients[3].take() == [Pubrec(2, 0x10)]
    harness.checkpoint()
    harness.cut()
    state = harness.broker.state
    assert state.held_bytes == sum(each.inbound_bytes for each in state.sessions.values())
    for number in (0, 1, 3):
        client = connect(harness, str(number))
        client.send(Pubrel(2))
        harness.commit()
    assert state.held_bytes == 0
