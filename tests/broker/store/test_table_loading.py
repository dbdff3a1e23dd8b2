"""The tables of a checkpoint are loaded into an equal state; queued messages stay on disk."""

from contextlib import closing
from pathlib import Path

from gateway.broker.core.records.replay import Replay
from gateway.broker.core.sessions.message import DeliveryState
from gateway.broker.core.state import State
from gateway.broker.store.database import DATABASE_NAME, connect
from gateway.broker.store.table_loading import load_tables
from gateway.broker.wire.packets import Publish, Pubrec, Pubrel
from tests.broker.core.harness import Harness


def loaded(data_dir: Path) -> State:
    """Return the state that the tables in `data_dir` have."""
    state = State([])
    with closing(connect(data_dir / DATABASE_NAME)) as connection:
        load_tables(connection, state, Replay(state, 0.0, lambda _number: None), 0.0)
    return state


def test_sessions_subscriptions_and_retained_messages_are_loaded(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.subscriber("s", "a/#", 1)
    harness.connect("p").send(Publish("r", b"kept", 1, True, False, 1))
    harness.commit()
    harness.checkpoint()
    state = loaded(tmp_path)
    assert sorted(state.sessions) == ["p", "s"]
    assert list(state.sessions["s"].subscriptions) == ["a/#"]
    assert state.sessions["s"].number == harness.session("s").number
    assert {topic: each.payload for topic, each in state.retained.items()} == {"r": b"kept"}
    harness.close()


def test_a_held_message_is_loaded_with_its_contents(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.connect("p").send(Publish("t", b"held", 2, False, False, 7))
    harness.commit()
    harness.checkpoint()
    (held,) = loaded(tmp_path).sessions["p"].inbound.values()
    assert (held.packet_id, held.message.payload) == (7, b"held")
    harness.close()


def test_queued_messages_are_counted_and_those_in_flight_loaded_without_contents(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path)
    client = harness.subscriber("s", "t", 2)
    publisher = harness.connect("p", clean=True)
    publisher.send(*(Publish("t", b"x", 1, False, False, number) for number in (1, 2)))
    harness.commit()
    harness.lose(client)
    publisher.send(*(Publish("t", b"z", 1, False, False, number) for number in (4, 5, 6)))
    harness.commit()
    harness.checkpoint()
    session = loaded(tmp_path).sessions["s"]
    assert (session.stored_count, session.queued_count) == (3, 3)
    in_flight = list(session.outbound.values())
    assert [each.message for each in in_flight] == [None, None]
    assert {each.state for each in in_flight} == {DeliveryState.SENT}
    harness.close()


def test_a_delivery_keeps_its_place_in_the_order_of_the_pubrecs(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    client = harness.subscriber("s", "t", 2)
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("t", b"x", 2, False, False, 1))
    harness.commit()
    publisher.send(Pubrel(1))
    harness.commit()
    (packet,) = [each for each in client.take() if isinstance(each, Publish)]
    client.send(Pubrec(packet.packet_id))
    harness.commit()
    harness.checkpoint()
    session = loaded(tmp_path).sessions["s"]
    delivery = session.outbound.get(packet.packet_id)
    assert delivery is not None
    assert (delivery.state, delivery.pubrec) == (DeliveryState.RECEIVED, 1)
    assert session.pubrecs == 1
    harness.close()
