"""MQTT 5.0 clients on the harness; properties are given as keyword arguments."""

from typing import Any

from gateway.broker.wire.packets import (
    Connack,
    Disconnect,
    Packet,
    Properties,
    Publish,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.core.harness import Client, Harness

NEVER = 0xFFFF_FFFF


def properties(**values: object) -> Properties | None:
    """Return properties with these attributes, or None if there are no arguments."""
    if not values:
        return None
    made = Properties()
    for name, value in values.items():
        assert hasattr(made, name), name
        setattr(made, name, value)
    return made


def connect(
    harness: Harness,
    client_id: str,
    *,
    clean: bool = False,
    expiry: int = NEVER,
    will: Will | None = None,
    keep_alive_seconds: int = 0,
    **values: Any,
) -> Client:
    """Connect with MQTT 5.0 and commit; `expiry` 0 sends no session expiry interval."""
    if expiry:
        values["session_expiry_interval_seconds"] = expiry
    return harness.connect(
        client_id,
        clean=clean,
        will=will,
        keep_alive_seconds=keep_alive_seconds,
        version=5,
        properties=properties(**values),
    )


def subscribe(
    harness: Harness, client: Client, *subscriptions: Subscription, identifier: int = 0
) -> list[Packet]:
    """Subscribe, commit, and return the packets that the client received."""
    made = properties(subscription_identifiers=[identifier]) if identifier else None
    client.take()
    client.send(Subscribe(1, list(subscriptions), made))
    harness.commit()
    return client.take()


def subscriber(harness: Harness, client_id: str, topic_filter: str, qos: int) -> Client:
    """Connect with a session that never expires, and subscribe."""
    client = connect(harness, client_id)
    subscribe(harness, client, Subscription(topic_filter, qos))
    return client


def publish(
    harness: Harness, client: Client, topic: str, payload: bytes, qos: int = 1, **values: Any
) -> None:
    """Publish under packet identifier 1 (QoS 1) or 2 (QoS 2, not yet released), and commit."""
    retain = bool(values.pop("retain", False))
    packet_id = {0: 0, 1: 1, 2: 2}[qos]
    client.send(Publish(topic, payload, qos, retain, False, packet_id, properties(**values)))
    harness.commit()


def will(payload: bytes = b"will", *, delay: int = 0, qos: int = 1, **values: Any) -> Will:
    """Return a will on topic `w`."""
    if delay:
        values["will_delay_interval_seconds"] = delay
    return Will("w", payload, qos, False, properties(**values))


def connack_of(client: Client) -> Connack:
    """Return the CONNACK, which must be the first packet that the client received."""
    first = client.take()[0]
    assert isinstance(first, Connack)
    return first


def granted(client: Client) -> Properties:
    """Return the properties of the CONNACK."""
    answered = connack_of(client).properties
    assert answered is not None
    return answered


def end_of(client: Client) -> int:
    """Return the reason code of the DISCONNECT with which the broker closed the connection."""
    last = client.take()[-1]
    assert client.closed
    assert isinstance(last, Disconnect)
    return last.reason_code


def is_there(harness: Harness, client_id: str = "c") -> bool:
    """Return True if the broker has a session with this client identifier."""
    return client_id in harness.broker.state.sessions


def identifiers_of(packet: Publish) -> list[int]:
    """Return the subscription identifiers of a message in their order."""
    assert packet.properties is not None
    return sorted(packet.properties.subscription_identifiers or [])
