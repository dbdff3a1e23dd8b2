"""paho-mqtt as a client of MQTT 5.0."""

from collections.abc import Callable
from functools import partial

import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from tests.contract.mqtt_client.foreign_client import DEADLINE_SECONDS
from tests.contract.mqtt_client.paho_client import (
    PahoClient,
    connect_properties,
    properties_of,
    publish_properties,
    subscribe_properties,
    will_properties,
)
from tests.system.stage import Stage

KEPT = connect_properties(SessionExpiryInterval=600)


@pytest.fixture
def new_client(new_paho_client: Callable[..., PahoClient]) -> Callable[..., PahoClient]:
    """Return a function that creates paho clients of MQTT 5.0 that do not reconnect."""
    return partial(new_paho_client, protocol=MQTTProtocolVersion.MQTTv5, reconnect_on_failure=False)


def test_paho_5_without_an_identifier_receives_the_one_it_was_given(
    new_client: Callable[..., PahoClient],
) -> None:
    client = new_client("")
    client.start()
    assert properties_of(client.connack_properties)["AssignedClientIdentifier"]


def test_a_session_of_paho_5_without_an_expiry_interval_ends_with_its_connection(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    client = new_client("brief")
    assert client.start(clean_start=False) is False
    client.subscribe(stage.topic("x"), 1)
    client.stop()
    assert new_client("brief").start(clean_start=False, properties=KEPT) is False


def test_a_clean_start_of_paho_5_discards_the_session(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    for clean_start, session_present in [(False, False), (False, True), (True, False)]:
        client = new_client("same")
        assert client.start(clean_start=clean_start, properties=KEPT) is session_present
        client.stop()


def test_paho_5_gets_the_properties_of_a_message_unaltered_and_in_order(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    client = new_client("paho")
    client.start()
    client.subscribe(stage.topic("x"), 2)
    pairs = [("b", "2"), ("a", "1"), ("a", "1"), ("", ""), ("Grad", "21,5 °C")]
    properties = publish_properties(
        PayloadFormatIndicator=1,
        ContentType="text/plain",
        ResponseTopic=stage.topic("answer"),
        CorrelationData=b"\x00\xff",
        UserProperty=pairs,
    )
    client.publish(stage.topic("x"), b"warm", qos=2, properties=properties)
    assert properties_of(client.take().properties) == properties_of(properties)


def test_paho_5_and_paho_3_1_1_read_each_other(
    stage: Stage,
    new_client: Callable[..., PahoClient],
    new_paho_client: Callable[..., PahoClient],
) -> None:
    new, old = new_client("new"), new_paho_client("old")
    for client in (new, old):
        client.start()
        client.subscribe(stage.topic("x"), 2)
    properties = publish_properties(UserProperty=("unit", "Cel"), MessageExpiryInterval=60)
    new.publish(stage.topic("x"), b"from 5.0", qos=2, properties=properties)
    assert [each.take().payload for each in (new, old)] == [b"from 5.0"] * 2
    old.publish(stage.topic("x"), b"from 3.1.1", qos=2)
    message = new.take()
    assert (message.payload, properties_of(message.properties)) == (b"from 3.1.1", {})
    assert old.take().payload == b"from 3.1.1"


def test_paho_5_names_a_topic_once_and_then_by_its_alias(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    client = new_client("paho")
    client.start()
    client.subscribe(stage.topic("#"), 2)
    for alias, topic in [(1, stage.topic("x")), (16, stage.topic("y"))]:
        properties = publish_properties(TopicAlias=alias)
        client.publish(topic, b"named", qos=1, properties=properties)
        for qos in (0, 1, 2):
            client.publish("", b"by its alias", qos=qos, properties=properties)
        assert {client.take().topic for _ in range(4)} == {topic}


def test_paho_5_is_sent_a_topic_once_and_then_its_alias(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    client = new_client("paho")
    client.start(properties=connect_properties(TopicAliasMaximum=1))
    client.subscribe(stage.topic("x"), 0)
    for _ in range(2):
        client.publish(stage.topic("x"), b"warm", qos=0)
    messages = [client.take() for _ in range(2)]
    # paho leaves it to the program to remember the topic of an alias.
    assert [message.topic for message in messages] == [stage.topic("x"), ""]
    assert [properties_of(message.properties) for message in messages] == [{"TopicAlias": 1}] * 2


def test_a_message_of_paho_5_expires_and_another_receives_what_is_left_of_its_time(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    away = new_client("away")
    away.start(properties=KEPT)
    away.subscribe(stage.topic("x"), 2)
    away.stop()
    watcher = new_client("watcher")
    watcher.start()
    watcher.subscribe(stage.topic("will"), 0)
    brief = publish_properties(MessageExpiryInterval=1)
    long = publish_properties(MessageExpiryInterval=600)
    watcher.publish(stage.topic("x"), b"brief", qos=2, properties=brief)
    watcher.publish(stage.topic("x"), b"long", qos=2, properties=long)
    # The will reports that two seconds have passed.
    _mortal(stage, new_client, "clock", delay_seconds=2).cut()
    watcher.take()
    away = new_client("away")
    assert away.start(clean_start=False, properties=KEPT) is True
    message = away.take()
    assert message.payload == b"long"
    assert 1 <= properties_of(message.properties)["MessageExpiryInterval"] <= 598


def _mortal(
    stage: Stage,
    new_client: Callable[..., PahoClient],
    name: str,
    *,
    delay_seconds: int,
    session_expiry_seconds: int = 600,
) -> PahoClient:
    """Return a connected client with a delayed will. The will's payload is the client's name."""
    mortal = new_client(name)
    mortal.client.will_set(
        stage.topic("will"),
        name.encode(),
        2,
        properties=will_properties(WillDelayInterval=delay_seconds, UserProperty=("cause", "cut")),
    )
    mortal.start(properties=connect_properties(SessionExpiryInterval=session_expiry_seconds))
    return mortal


def test_the_will_of_a_paho_5_client_comes_no_later_than_the_end_of_its_session(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    watcher = new_client("watcher")
    watcher.start()
    watcher.subscribe(stage.topic("will"), 2)
    mortal = _mortal(stage, new_client, "mortal", delay_seconds=3600, session_expiry_seconds=1)
    mortal.cut()
    assert watcher.take().payload == b"mortal"
    assert new_client("mortal").start(clean_start=False, properties=KEPT) is False


def test_paho_5_can_disconnect_and_ask_for_its_will(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    watcher = new_client("watcher")
    watcher.start()
    watcher.subscribe(stage.topic("will"), 2)
    for name, reason in [("silent", "Success"), ("loud", "Disconnect with will message")]:
        mortal = _mortal(stage, new_client, name, delay_seconds=0)
        mortal.client.disconnect(ReasonCode(PacketTypes.DISCONNECT, reason))
        mortal.disconnected.get(timeout=DEADLINE_SECONDS)
    assert watcher.take().payload == b"loud"


def test_paho_5_chooses_how_its_subscription_treats_retained_and_own_messages(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    client, other = new_client("client"), new_client("other")
    for each in (client, other):
        each.start()
    other.publish(stage.topic("x"), b"old", qos=1, retain=True)
    options = SubscribeOptions(
        qos=1,
        noLocal=True,
        retainAsPublished=True,
        retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND,
    )
    identifier = subscribe_properties(SubscriptionIdentifier=268_435_455)
    assert client.subscribe(stage.topic("x"), options, identifier) == [1]
    client.publish(stage.topic("x"), b"own", qos=1)
    other.publish(stage.topic("x"), b"new", qos=1, retain=True)
    message = client.take()
    assert (message.payload, message.retain) == (b"new", True)
    assert properties_of(message.properties)["SubscriptionIdentifier"] == [268_435_455]
