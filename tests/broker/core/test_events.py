"""Events that an observer receives, one test for each event."""

from pathlib import Path

import pytest

from gateway.broker.core.events import Event, Published
from gateway.broker.wire.packets import (
    Connect,
    Disconnect,
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
from tests.broker.core.harness import Client, Harness

Report = tuple[str, dict[str, object]]


def fields_of(event: Event) -> dict[str, object]:
    """Return the attributes of an event; compiled classes have no `__dict__`."""
    return {name: getattr(event, name) for name in dir(event) if not name.startswith("_")}


class Watched:
    """A broker, and the events that it reported."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.events: list[Event] = []
        harness.broker.statistics.observe = self.events.append

    def take(self) -> list[Report]:
        events, self.events[:] = list(self.events), []
        return [(type(event).__name__, fields_of(event)) for event in events]

    def publish(self, client: Client, qos: int, topic: str = "t", retain: bool = False) -> None:
        client.send(Publish(topic, b"21", qos, retain, False, 5 if qos else 0))
        if qos == 2:
            client.send(Pubrel(5))
        self.harness.commit()


@pytest.fixture
def watched(harness: Harness) -> Watched:
    return Watched(harness)


def test_a_client_comes_back_and_leaves(watched: Watched) -> None:
    harness = watched.harness
    client = harness.connect("c", keep_alive_seconds=30)
    client.send(Disconnect())
    harness.commit()
    harness.connect("c", version=5)
    first = {
        "client_id": "c",
        "address": "127.0.0.1:1",
        "protocol": 4,
        "username": None,
        "keep_alive_seconds": 30,
        "session_present": False,
    }
    back = first | {"protocol": 5, "keep_alive_seconds": 0, "session_present": True}
    assert watched.take() == [
        ("Connected", first),
        ("Disconnected", {"client_id": "c"}),
        ("Connected", back),
    ]
    assert harness.broker.statistics.clients_connected == 1
    assert harness.broker.statistics.clients_connected_max == 1


def test_a_connection_is_lost_for_a_reason_and_its_will_is_published(watched: Watched) -> None:
    harness = watched.harness
    client = harness.connect("c", will=Will("gone", b"bye", 1, False))
    watched.take()
    harness.lose(client)
    will = {
        "client_id": "c",
        "topic": "gone",
        "payload": b"bye",
        "qos": 1,
        "retain": False,
        "is_will": True,
    }
    assert watched.take() == [
        ("Lost", {"client_id": "c", "reason": "network"}),
        ("Published", will),
    ]
    assert harness.broker.statistics.clients_connected == 0


def test_a_takeover_is_a_loss_and_a_connection(watched: Watched) -> None:
    harness = watched.harness
    harness.connect("c")
    watched.take()
    harness.connect("c")
    assert [(name, fields.get("reason")) for name, fields in watched.take()] == [
        ("Lost", "takeover"),
        ("Connected", None),
    ]
    assert harness.broker.statistics.clients_connected == 1


def test_who_was_refused_neither_came_nor_went(watched: Watched) -> None:
    harness = watched.harness
    client = harness.open_connection(4)
    client.send(Connect(4, "", False, 0, None, None, None))
    harness.commit()
    harness.lose(client)
    assert watched.take() == []


def test_subscriptions_are_reported_as_clients_make_and_give_them_up(watched: Watched) -> None:
    harness = watched.harness
    client = harness.connect("c")
    watched.take()
    client.send(Subscribe(1, [Subscription("a/#", 1), Subscription("b", 2)]))
    client.send(Unsubscribe(2, ["b", "never"]))
    harness.commit()
    assert watched.take() == [
        ("Subscribed", {"client_id": "c", "topic_filter": "a/#", "qos": 1}),
        ("Subscribed", {"client_id": "c", "topic_filter": "b", "qos": 2}),
        ("Unsubscribed", {"client_id": "c", "topic_filter": "b"}),
    ]


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("topic", ["t", "sensors/t"])
def test_a_message_is_published_once_and_delivered_when_it_arrived(
    watched: Watched, qos: int, topic: str
) -> None:
    harness = watched.harness
    reader = harness.subscriber("reader", "#", 2)
    writer = harness.connect("writer")
    watched.take()
    watched.publish(writer, qos, topic)
    published = {
        "client_id": "writer",
        "topic": topic,
        "payload": b"21",
        "qos": qos,
        "retain": False,
        "is_will": False,
    }
    delivered = ("Delivered", {"client_id": "reader", "topic": topic, "qos": qos})
    reported = watched.take()
    assert reported[0] == ("Published", published)
    assert reported[1:] == ([delivered] if qos == 0 else [])
    if qos == 1:
        reader.send(Puback(1))
    elif qos == 2:
        reader.send(Pubrec(1), Pubcomp(1))
    assert watched.take() == ([] if qos == 0 else [delivered])


def test_a_qos_2_message_without_its_pubrel_is_not_published(watched: Watched) -> None:
    writer = watched.harness.connect("writer")
    watched.take()
    writer.send(Publish("t", b"", 2, False, False, 5))
    watched.harness.commit()
    assert watched.take() == []


def test_a_delivery_of_an_earlier_life_has_no_topic_where_it_is_not_needed(
    watched: Watched,
) -> None:
    harness = watched.harness
    reader = harness.subscriber("reader", "#", 2)
    watched.publish(harness.connect("writer"), 2)
    reader.send(Pubrec(1))
    harness.commit()
    harness.checkpoint()
    harness.cut()
    again = Watched(harness)
    reader = harness.connect("reader")
    reader.send(Pubcomp(1))
    assert again.take()[-1] == ("Delivered", {"client_id": "reader", "topic": None, "qos": 2})


def test_what_is_dropped_is_reported_with_its_reason(watched: Watched) -> None:
    harness = watched.harness
    harness.limits.max_mqueue_len = 1
    reader = harness.subscriber("reader", "#", 1)
    harness.lose(reader)
    writer = harness.connect("writer")
    watched.publish(writer, 1)
    watched.take()
    watched.publish(writer, 1)
    assert watched.take()[1:] == [
        ("Dropped", {"client_id": "reader", "topic": "t", "reason": "queue_full"})
    ]
    assert harness.session("reader").dropped_messages == 1


def test_a_pubrec_with_an_error_is_a_drop(watched: Watched) -> None:
    harness = watched.harness
    reader = harness.connect("reader", version=5)
    reader.send(Subscribe(1, [Subscription("#", 2)]))
    watched.publish(harness.connect("writer"), 2)
    watched.take()
    reader.send(Pubrec(1, 0x97))
    assert watched.take() == [
        ("Dropped", {"client_id": "reader", "topic": "t", "reason": "refused_by_receiver"})
    ]


def test_what_the_broker_states_itself_and_what_it_refuses_is_not_reported(
    watched: Watched,
) -> None:
    harness = watched.harness
    harness.subscriber("reader", "$SYS/#", 0)
    writer = harness.connect("writer")
    watched.take()
    harness.broker.publish_system_values({"$SYS/broker/uptime": b"1 seconds"})
    watched.publish(writer, 1, "$SYS/broker/uptime")
    assert watched.take() == []


def test_no_observer_is_asked_in_a_new_broker(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    try:
        assert harness.broker.statistics.observe is None
    finally:
        harness.close()


def test_an_event_holds_the_payload_itself(watched: Watched) -> None:
    writer = watched.harness.connect("writer")
    watched.events.clear()
    watched.publish(writer, 0)
    (event,) = watched.events
    assert isinstance(event, Published)
    assert event.payload == b"21"
