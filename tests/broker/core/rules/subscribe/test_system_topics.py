"""Topics under `$SYS`: who receives them, and that only the broker may publish to them."""

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Packet,
    Properties,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from tests.broker.core.harness import Client, Harness, publishes

VALUES = {"$SYS/broker/uptime": b"7 seconds", "$SYS/broker/clients/total": b"2"}


def subscribed(harness: Harness, client_id: str, topic_filter: str, **options: int) -> Client:
    client = harness.connect(client_id, version=5)
    client.send(Subscribe(1, [Subscription(topic_filter, 1, **options)]))  # type: ignore[arg-type]
    harness.commit()
    client.take()
    return client


def received(harness: Harness, client: Client) -> list[tuple[str, bytes, bool]]:
    harness.flush()
    return [(each.topic, each.payload, each.retain) for each in publishes(client.take())]


def speak(harness: Harness) -> None:
    harness.broker.publish_system_values(VALUES)


def test_a_new_subscriber_receives_what_holds_now_with_retain_set(harness: Harness) -> None:
    client = subscribed(harness, "reader", "$SYS/broker/clients/#")
    harness.broker.answer_system_subscriptions(VALUES)
    assert received(harness, client) == [("$SYS/broker/clients/total", b"2", True)]
    harness.broker.answer_system_subscriptions(VALUES)
    assert received(harness, client) == []


def test_subscribers_receive_changes_without_retain(harness: Harness) -> None:
    client = subscribed(harness, "reader", "$SYS/#")
    speak(harness)
    assert received(harness, client) == [(topic, text, False) for topic, text in VALUES.items()]


def test_retain_handling_2_asks_for_nothing_at_first(harness: Harness) -> None:
    client = subscribed(harness, "reader", "$SYS/#", retain_handling=2)
    assert not harness.broker.effects.system_subscriptions
    speak(harness)
    assert len(received(harness, client)) == 2


def test_who_unsubscribes_before_the_answer_gets_none(harness: Harness) -> None:
    client = subscribed(harness, "reader", "$SYS/#")
    client.send(Unsubscribe(2, ["$SYS/#"]))
    harness.commit()
    client.take()
    harness.broker.answer_system_subscriptions(VALUES)
    assert received(harness, client) == []


@pytest.mark.statement("MQTT-4.7.2-1", "MQTT5-4.7.2-1")
@pytest.mark.parametrize("topic_filter", ["#", "+/#", "+/broker/uptime", "sys/#"])
def test_a_leading_wildcard_does_not_match_system_topics(
    harness: Harness, topic_filter: str
) -> None:
    client = subscribed(harness, "reader", topic_filter)
    assert harness.broker.state.tree.system_count == 0
    speak(harness)
    harness.broker.answer_system_subscriptions(VALUES)
    assert received(harness, client) == []


def test_one_member_of_a_shared_subscription_is_notified(harness: Harness) -> None:
    members = [subscribed(harness, name, "$share/g/$SYS/#") for name in ("one", "two")]
    assert harness.broker.state.tree.system_count == 2
    speak(harness)
    assert sorted(len(received(harness, client)) for client in members) == [1, 1]


def test_subscriptions_below_system_are_counted_while_they_are_there(harness: Harness) -> None:
    tree = harness.broker.state.tree
    client = harness.subscriber("reader", "$SYS/#", 1)
    client.send(Subscribe(2, [Subscription("$SYS/#", 0)]), Subscribe(3, [Subscription("a", 0)]))
    harness.commit()
    assert tree.system_count == 1
    harness.cut()
    assert harness.broker.state.tree.system_count == 1
    harness.connect("reader", clean=True)
    assert harness.broker.state.tree.system_count == 0


def test_nothing_waits_for_a_client_that_is_away_or_reads_slowly(harness: Harness) -> None:
    harness.limits.mqueue_store_qos0 = True
    away = harness.subscriber("away", "$SYS/#", 2)
    slow = harness.subscriber("slow", "$SYS/#", 2)
    harness.lose(away)
    harness.commit()
    harness.broker.set_writable(slow.connection, False, harness.now)
    sequence = harness.broker.batch.next_sequence
    speak(harness)
    harness.commit()
    assert received(harness, slow) == []
    assert harness.session("away").queued_count == harness.session("slow").queued_count == 0
    assert harness.broker.statistics.dropped == {"slow_reader": 2}
    assert harness.broker.batch.next_sequence == sequence


def test_nothing_of_it_is_recorded_or_retained(harness: Harness) -> None:
    client = harness.subscriber("reader", "$SYS/#", 2)
    harness.broker.effects.system_subscriptions.clear()
    sequence = harness.broker.batch.next_sequence
    speak(harness)
    harness.commit()
    assert len(received(harness, client)) == 2
    assert harness.broker.batch.next_sequence == sequence
    assert harness.broker.state.tree.retained_count == 0
    assert harness.broker.state.next_message_number == 1


def test_a_client_with_a_small_maximum_packet_size_is_spared_what_is_too_large(
    harness: Harness,
) -> None:
    properties = Properties()
    properties.maximum_packet_size_bytes = 31
    client = harness.connect("small", clean=True, version=5, properties=properties)
    client.send(Subscribe(1, [Subscription("$SYS/#", 0)]))
    harness.commit()
    client.take()
    speak(harness)
    assert [topic for topic, _, _ in received(harness, client)] == ["$SYS/broker/clients/total"]
    assert harness.broker.statistics.dropped == {"too_large": 1}


# -- no other client publishes under $SYS


def answers_to(harness: Harness, version: int, *packets: Packet) -> list[Packet]:
    reader = harness.subscriber("reader", "$SYS/#", 2)
    harness.broker.effects.system_subscriptions.clear()
    writer = harness.connect("writer", version=version)
    writer.take()
    before = harness.broker.batch.next_sequence
    writer.send(*packets)
    harness.commit()
    assert received(harness, reader) == []
    assert harness.broker.batch.next_sequence == before
    assert not harness.broker.state.retained
    assert harness.broker.statistics.errors["system_topic"] == 1
    assert not writer.closed
    return writer.take()


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("topic", ["$SYS", "$SYS/broker/uptime", "$SYS/mine"])
@pytest.mark.parametrize("retain", [False, True])
def test_a_qos_0_message_to_system_goes_nowhere(
    harness: Harness, version: int, topic: str, retain: bool
) -> None:
    assert answers_to(harness, version, Publish(topic, b"x", 0, retain, False, 0)) == []


@pytest.mark.parametrize(("version", "code"), [(3, 0), (4, 0), (5, 0x87)])
def test_a_qos_1_message_to_system_is_refused_where_the_protocol_can_say_so(
    harness: Harness, version: int, code: int
) -> None:
    (answer,) = answers_to(harness, version, Publish("$SYS/x", b"x", 1, True, False, 9))
    assert isinstance(answer, Puback)
    assert (answer.packet_id, answer.reason_code) == (9, code)


@pytest.mark.parametrize("version", [3, 4])
def test_a_qos_2_message_to_system_is_completed_and_goes_nowhere(
    harness: Harness, version: int
) -> None:
    first, second = answers_to(
        harness, version, Publish("$SYS/x", b"x", 2, False, False, 9), Pubrel(9)
    )
    assert isinstance(first, Pubrec)
    assert isinstance(second, Pubcomp)
    assert not harness.session("writer").inbound


def test_a_qos_2_message_of_5_to_system_is_refused(harness: Harness) -> None:
    (answer,) = answers_to(harness, 5, Publish("$SYS/x", b"x", 2, False, False, 9))
    assert isinstance(answer, Pubrec)
    assert (answer.packet_id, answer.reason_code) == (9, 0x87)
    assert not harness.session("writer").inbound


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_client_with_a_will_below_system_is_accepted_and_its_will_discarded(
    harness: Harness, version: int
) -> None:
    """Mosquitto's bridges have such a will by default."""
    reader = harness.subscriber("reader", "$SYS/#", 2)
    client = harness.open_connection(version)
    will = Will("$SYS/broker/connection/cellar/state", b"0", 1, True)
    client.send(Connect(version, "c", True, 0, will, None, None))
    harness.commit()
    (connack,) = client.take()
    assert isinstance(connack, Connack)
    assert connack.reason_code == 0
    assert harness.broker.statistics.errors["system_topic"] == 1
    harness.lose(client)
    harness.commit()
    assert received(harness, reader) == []
    assert not harness.broker.state.retained
