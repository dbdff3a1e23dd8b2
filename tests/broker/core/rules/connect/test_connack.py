"""The properties of CONNACK: what the broker grants, and nothing that was not requested."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Disconnect,
    Pubrel,
    Subscription,
)
from tests.broker.core.harness import Harness, publishes
from tests.broker.core.mqtt5 import (
    NEVER,
    connect,
    granted,
    is_there,
    properties,
    publish,
    subscribe,
)


def test_what_the_operator_allows_is_granted_and_said(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_session_expiry_seconds = 60
    limits.max_keep_alive_seconds = 100
    limits.max_awaiting_rel = 7
    limits.max_packet_size_bytes = 5_000
    limits.max_topic_alias = 3
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c", keep_alive_seconds=600)
    assert granted(client) == properties(
        session_expiry_interval_seconds=60,
        receive_maximum=7,
        maximum_packet_size_bytes=5_000,
        topic_alias_maximum=3,
        server_keep_alive_seconds=100,
    )
    client.send(Disconnect(0, properties(session_expiry_interval_seconds=NEVER)))
    harness.commit()
    harness.advance(60)
    assert not is_there(harness)
    harness.close()


@pytest.mark.statement("MQTT5-3.1.2-28", "MQTT5-4.12.0-6", "MQTT5-3.2.2-8")
def test_connack_contains_nothing_that_was_not_asked_for(harness: Harness) -> None:
    for asked in (None, False, True):
        client = connect(harness, "c", request_response_information=asked)
        answered = granted(client)
        assert answered.response_information is None
        assert answered.server_reference is None
        assert answered.authentication_method is None


@pytest.mark.statement("MQTT5-3.2.2-9", "MQTT5-3.2.2-10", "MQTT5-3.2.2-12", "MQTT5-3.2.2-13")
def test_every_qos_and_retain_are_there_and_none_is_denied(harness: Harness) -> None:
    client = connect(harness, "c")
    said = granted(client)
    assert said.maximum_qos is None
    assert said.retain_available is None
    assert said.wildcard_subscription_available is None
    assert said.subscription_identifiers_available is None
    assert said.shared_subscription_available is None
    publish(harness, client, "t", b"x", 2, retain=True)
    client.send(Pubrel(2))
    harness.commit()
    (packet,) = publishes(subscribe(harness, client, Subscription("t", 2)))
    assert (packet.qos, packet.retain) == (2, True)
