"""paho-mqtt, the client library most Python programs use, with its own network thread."""

from collections.abc import Callable

import pytest
from paho.mqtt.enums import MQTTProtocolVersion

from tests.contract.mqtt_client.paho_client import DEADLINE_SECONDS, PahoClient
from tests.system.stage import Stage


@pytest.mark.parametrize("protocol", [MQTTProtocolVersion.MQTTv31, MQTTProtocolVersion.MQTTv311])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_paho_publishes_and_receives_at_every_qos(
    stage: Stage,
    new_paho_client: Callable[..., PahoClient],
    qos: int,
    protocol: MQTTProtocolVersion,
) -> None:
    client = new_paho_client("paho", protocol=protocol)
    client.start()
    assert client.subscribe(stage.topic("x/#"), qos) == [qos]
    for number in range(50):
        client.publish(stage.topic(f"x/{number}"), b"%d" % number, qos=qos)
    messages = [client.take() for _ in range(50)]
    assert [each.payload for each in messages] == [b"%d" % number for number in range(50)]
    assert {each.qos for each in messages} == {qos}


def test_paho_comes_back_to_its_persistent_session_and_gets_what_waited(
    stage: Stage, new_paho_client: Callable[..., PahoClient]
) -> None:
    away = new_paho_client("away", clean_session=False)
    assert away.start() is False
    away.subscribe(stage.topic("x"), 2)
    away.stop()
    publisher = new_paho_client("publisher")
    publisher.start()
    for number in range(30):
        publisher.publish(stage.topic("x"), b"%d" % number, qos=1 + number % 2)
    away = new_paho_client("away", clean_session=False)
    assert away.start() is True
    assert sorted(int(away.take().payload) for _ in range(30)) == list(range(30))


def test_paho_sees_retained_messages_and_clears_them(
    stage: Stage, new_paho_client: Callable[..., PahoClient]
) -> None:
    client = new_paho_client("paho")
    client.start()
    client.publish(stage.topic("x"), b"retained", qos=1, retain=True)
    client.subscribe(stage.topic("x"), 1)
    message = client.take()
    assert (message.payload, message.retain) == (b"retained", True)
    client.publish(stage.topic("x"), b"", qos=1, retain=True)
    assert (client.take().payload, message.retain) == (b"", True)
    late = new_paho_client("late")
    late.start()
    late.subscribe(stage.topic("x"), 1)
    client.publish(stage.topic("x"), b"live", qos=1)
    assert late.take().payload == b"live"


def test_the_will_of_a_paho_client_is_published_when_its_connection_is_cut(
    stage: Stage, new_paho_client: Callable[..., PahoClient]
) -> None:
    watcher = new_paho_client("watcher")
    watcher.start()
    watcher.subscribe(stage.topic("will"), 2)
    mortal = new_paho_client("mortal")
    mortal.client.will_set(stage.topic("will"), b"gone", 2)
    mortal.start()
    mortal.cut()
    assert watcher.take().payload == b"gone"


def test_a_second_paho_client_with_the_same_identifier_takes_over(
    stage: Stage, new_paho_client: Callable[..., PahoClient]
) -> None:
    first = new_paho_client("same", reconnect_on_failure=False)
    first.start()
    second = new_paho_client("same", reconnect_on_failure=False)
    second.start()
    first.disconnected.get(timeout=DEADLINE_SECONDS)
    second.subscribe(stage.topic("x"), 1)
    second.publish(stage.topic("x"), b"fine", qos=1)
    assert second.take().payload == b"fine"
