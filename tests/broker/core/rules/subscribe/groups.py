"""Members of a shared subscription on the harness."""

from typing import Any

from gateway.broker.wire.packets import Subscription
from tests.broker.core.harness import Client, Harness, publish_many, publishes
from tests.broker.core.mqtt5 import connect, subscribe

SHARED = "$share/g/t/#"


def member(
    harness: Harness, client_id: str, *, qos: int = 2, identifier: int = 0, **values: Any
) -> Client:
    client = connect(harness, client_id, **values)
    subscribe(harness, client, Subscription(SHARED, qos), identifier=identifier)
    return client


def publish_to_group(harness: Harness, count: int, qos: int = 1) -> list[bytes]:
    """Publish messages to the group's topic; return their payloads."""
    publish_many(harness, count, qos, topic="t/1")
    return [b"%d" % number for number in range(count)]


def identifiers_of(client: Client) -> list[list[int]]:
    """Return the subscription identifiers of each PUBLISH that the client received."""
    packets = publishes(client.take())
    return [
        packet.properties.subscription_identifiers if packet.properties else []
        for packet in packets
    ]
