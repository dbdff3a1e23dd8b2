"""Access rules that a test can change, and packets that make the broker consult the rules."""

import pytest

from gateway.broker.core.permissions import AccessRules, Client
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Packet,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.core.harness import Client as Peer
from tests.broker.core.harness import Harness

NOT_AUTHORIZED = 0x87
both_versions = pytest.mark.parametrize("version", [4, 5])


class Rules(AccessRules):
    """Rules that forbid the operations that a test lists, per client identifier and topic."""

    def __init__(self) -> None:
        self.connect: set[str] = set()
        self.publish: set[tuple[str, str]] = set()
        self.subscribe: set[tuple[str, str]] = set()
        self.receive: set[tuple[str, str]] = set()
        self.common: set[str] = set()
        """Filters of shared subscriptions for which all users share one group."""
        self.asked: list[tuple[str, str, str | None, str]] = []

    def _ask(self, question: str, client: Client) -> None:
        self.asked.append((question, client.client_id, client.username, client.listener))

    def may_connect(self, client: Client) -> bool:
        self._ask("connect", client)
        return client.client_id not in self.connect

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        self._ask("publish", client)
        return (client.client_id, topic) not in self.publish

    def may_subscribe(self, client: Client, topic_filter: str, qos: int) -> bool:
        self._ask("subscribe", client)
        return (client.client_id, topic_filter) not in self.subscribe

    def shares_group(self, client: Client, topic_filter: str, qos: int) -> bool:
        return topic_filter in self.common

    def may_receive(self, client: Client, topic: str) -> bool:
        self._ask("receive", client)
        return (client.client_id, topic) not in self.receive


def errors(harness: Harness) -> dict[str, int]:
    return harness.broker.statistics.errors


def connack_of(
    harness: Harness, version: int, client_id: str, will: Will | None = None
) -> tuple[Peer, int]:
    client = harness.open_connection(version)
    client.send(Connect(version, client_id, True, 0, will, None, None))
    harness.commit()
    (connack,) = client.take()
    assert isinstance(connack, Connack)
    return client, connack.reason_code


def answered(harness: Harness, client: Peer, *packets: Packet) -> list[Packet]:
    client.send(*packets)
    harness.commit()
    return client.take()


def subscribed(harness: Harness, client: Peer, *filters: str, qos: int = 2) -> list[int]:
    wanted = [Subscription(topic_filter, qos) for topic_filter in filters]
    (suback, *_) = answered(harness, client, Subscribe(1, wanted))
    assert isinstance(suback, Suback)
    return list(suback.reason_codes)


def message(qos: int, topic: str = "t", *, retain: bool = False) -> Publish:
    return Publish(topic, b"x", qos, retain, False, 1 if qos else 0)
