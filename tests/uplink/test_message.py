"""The stored form of a PUBLISH, and the PUBLISH that is built from it."""

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Properties, Publish
from gateway.uplink.hops import HOPS_PROPERTY
from gateway.uplink.message import Message, message_of


def publish(**properties: object) -> Publish:
    given = Properties()
    for name, value in properties.items():
        setattr(given, name, value)
    return Publish("t", b"x", 2, True, False, 7, given)


def received(frame: bytes, version: int = 5) -> Publish:
    (packet,) = Decoder(1 << 20, version, "client").feed(frame)
    assert isinstance(packet, Publish)
    return packet


def test_properties_of_the_message_are_passed_on_and_those_of_the_hop_are_not() -> None:
    given = publish(
        content_type="text/plain",
        correlation_data=b"c",
        response_topic="r",
        payload_format_indicator=1,
        user_properties=[("unit", "K")],
        message_expiry_interval_seconds=60,
    )
    given.properties.subscription_identifiers = [5]  # type: ignore[union-attr]
    message = message_of(given, "site/t", "gw", 100.0)
    assert message is not None
    sent = received(message.frame(9, 5, 110.0, again=True))
    assert (sent.topic, sent.payload, sent.qos, sent.retain, sent.dup, sent.packet_id) == (
        "site/t",
        b"x",
        2,
        True,
        True,
        9,
    )
    assert sent.properties is not None
    assert sent.properties.content_type == "text/plain"
    assert sent.properties.correlation_data == b"c"
    assert sent.properties.response_topic == "r"
    assert sent.properties.user_properties == [("unit", "K"), (HOPS_PROPERTY, "gw")]
    assert sent.properties.message_expiry_interval_seconds == 50, "less the time that it waited"
    assert sent.properties.subscription_identifiers == []


def test_towards_mqtt_3_1_1_no_property_is_sent() -> None:
    message = message_of(publish(content_type="x"), "t", "gw", 0.0)
    assert message is not None
    assert received(message.frame(1, 4, 0.0, again=False), 4).payload == b"x"


def test_a_message_that_was_here_is_not_forwarded() -> None:
    assert message_of(publish(user_properties=[(HOPS_PROPERTY, "a,gw")]), "t", "gw", 0.0) is None


@pytest.mark.parametrize(
    ("expires_at", "now", "expired"), [(None, 9e9, False), (5.0, 4.9, False), (5.0, 5.0, True)]
)
def test_a_message_expires_at_its_time(expires_at: float | None, now: float, expired: bool) -> None:
    assert Message("t", b"", 1, False, b"", expires_at).has_expired(now) is expired
