"""Comparison of the recovered state with the complete journal.

The tables, and the journal after their checkpoint, must give the same state as a replay of every
blob that was ever committed. This shows mistakes in a checkpoint that was cut anywhere.
"""

from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.replay import Replay
from gateway.broker.core.sessions.message import Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State
from gateway.broker.store.store import Store
from tests.instruments.simulation.violation import require

Picture = dict[str, object]


def require_same_state(
    recovered: State, store: Store, next_sequence: int, blobs: list[bytes], logged: list[str]
) -> None:
    """Compare a recovered state with that of the complete journal.

    Raises:
        Violation: the two states differ.
    """
    state = State(logged)
    replay = Replay(state, 0.0, lambda number: None)
    for blob in blobs:
        replay.apply(Blob(blob))
    replay.finish()
    reported, found = _picture_of(state, None), _picture_of(recovered, store)
    reported["next event"], found["next event"] = replay.next_sequence, next_sequence
    for part in reported:
        require(
            found.get(part) == reported[part],
            "recovery finds what was committed",
            f"{part}: found {found.get(part)!r}, the journal holds {reported[part]!r}",
        )


def _picture_of(state: State, store: Store | None) -> Picture:
    picture: Picture = {
        "retained": {topic: _contents(message) for topic, message in sorted(state.retained.items())}
    }
    for session in state.wills.values():
        will = session.will
        assert will is not None
        picture["will of " + session.client_id] = (will.topic, will.payload, will.qos)
    picture["wills"] = sorted(session.client_id for session in state.wills.values())
    sessions = sorted(state.sessions.values(), key=lambda session: session.number)
    picture["sessions"] = [(session.number, session.client_id) for session in sessions]
    for session in sessions:
        name = f"session {session.number} "
        picture[name + "expiry"] = (session.expiry_seconds, session.closed_ms > 0)
        picture[name + "subscriptions"] = {
            topic_filter: (subscription.options, subscription.identifier)
            for topic_filter, subscription in sorted(session.subscriptions.items())
        }
        picture[name + "received"] = {
            held.packet_id: _contents(held.message) for held in session.inbound.values()
        }
        in_flight = sorted(session.outbound.values(), key=lambda delivery: delivery.position)
        picture[name + "in flight"] = [
            (delivery.packet_id, delivery.state, *_delivery(session, delivery, store))
            for delivery in in_flight
        ]
        picture[name + "queue"] = [
            _delivery(session, delivery, store) for delivery in _queue(session, store)
        ]
        picture[name + "counts"] = (session.queued_count, session.last_packet_id)
    return picture


def _queue(session: Session, store: Store | None) -> list[Delivery]:
    stored: list[Delivery] = []
    if session.stored_count and store is not None:
        first, count = session.stored_first, session.stored_count
        _, stored, _ = store.load_page(session, first, count, [])
    return [*session.waiting, *stored, *session.recent]


def _delivery(session: Session, delivery: Delivery, store: Store | None) -> tuple[object, ...]:
    message, number = delivery.message, delivery.message_number
    if message is None and store is not None:
        message = store.load_page(session, 0, 0, [number])[0].get(number)
    contents = _contents(message) if message is not None else ("contents are gone",)
    return (number, delivery.position, delivery.flags, *contents)


def _contents(message: Message) -> tuple[object, ...]:
    return (message.topic, message.payload, message.forwarded, message.expires_ms)
