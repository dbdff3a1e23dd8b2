"""All state that must survive a power cut, as values that can be compared."""

from gateway.broker.core.sessions.message import Delivery, DeliveryState, Message, Will
from gateway.broker.core.sessions.session import Session
from tests.broker.core.harness import Harness

Picture = dict[str, object]


def picture_of(harness: Harness) -> Picture:
    """Return all state that must survive a power cut, as values that can be compared."""
    state = harness.broker.state
    sessions: Picture = {}
    for client_id, session in sorted(state.sessions.items()):
        if session.persistent:
            sessions[client_id] = {
                "number": session.number,
                "expiry": session.expiry_seconds,
                "protocol": session.protocol,
                "subscriptions": {
                    name: (subscription.options, subscription.identifier)
                    for name, subscription in session.subscriptions.items()
                },
                "inbound": {
                    held.packet_id: _contents_of(held.message) for held in session.inbound.values()
                },
                # The order matters among PUBLISHes and among PUBRELs, not between them.
                "outbound": [
                    (
                        delivery.packet_id,
                        _contents(harness, delivery),
                        delivery.flags,
                        delivery.state,
                    )
                    for state_wanted in (DeliveryState.SENT, DeliveryState.RECEIVED)
                    for delivery in session.outbound.values()
                    if delivery.state == state_wanted
                ],
                "queue": [
                    (delivery.flags, _contents(harness, delivery))
                    for delivery in _queue(harness, session)
                ],
                "queued": (session.queued_count, session.queued_bytes),
            }
    return {
        "sessions": sessions,
        "retained": {
            topic: _contents_of(message) for topic, message in sorted(state.retained.items())
        },
        "wills": {
            session.client_id: _will_of(session.will)
            for session in state.wills.values()
            if session.will is not None
        },
        "next session": state.next_session_number,
        "sequence": harness.broker.batch.next_sequence,
    }


def _queue(harness: Harness, session: Session) -> list[Delivery]:
    stored: list[Delivery] = []
    if session.stored_count:
        first, count = session.stored_first, session.stored_count
        _, stored, _ = harness.store.load_page(session, first, count, [])
    return [*session.waiting, *stored, *session.recent]


def _contents(harness: Harness, delivery: Delivery) -> tuple[object, ...]:
    message = delivery.message
    if message is None:
        loaded, _, _ = harness.store.load_page(delivery.session, 0, 0, [delivery.message_number])
        message = loaded.get(delivery.message_number)
    return (delivery.message_number,) if message is None else _contents_of(message)


def _contents_of(message: Message) -> tuple[object, ...]:
    return message.number, message.topic, message.payload, message.forwarded, message.expires_ms


def _will_of(will: Will) -> tuple[object, ...]:
    return (
        *(will.topic, will.payload, will.qos, will.retain),
        *(will.delay_seconds, will.expiry_seconds, will.forwarded),
    )
