"""Loads the tables into the broker's state. Queued messages are loaded later, in pages."""

import sqlite3

from gateway.broker.core.records.replay import Replay
from gateway.broker.core.sessions.message import Delivery, DeliveryState, Held, Will
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.state import State
from gateway.broker.store.rows import message_of
from gateway.broker.wire.values import topic_field_of


def load_tables(connection: sqlite3.Connection, state: State, replay: Replay, now: float) -> None:
    """Fill an empty state from the tables.

    Messages that might be needed to replay the journal are passed to `replay`.
    """
    _load_sessions(connection, state)
    _load_subscriptions(connection, state)
    _load_messages(connection, state, replay, now)
    _load_outbound(connection, state)
    _load_queues(state)
    _load_wills(connection, state)


def _load_sessions(connection: sqlite3.Connection, state: State) -> None:
    for row in connection.execute("SELECT * FROM sessions ORDER BY number"):
        number, client_id, protocol, first_position, next_position, *rest = row
        last_packet_id, closed, expiry, username = rest
        session = Session(number, client_id, True)
        session.expiry_seconds = expiry
        session.username = username
        session.protocol = protocol
        session.first_position = first_position
        session.next_position = max(first_position, next_position)
        session.frozen_position = session.next_position
        session.last_packet_id = last_packet_id
        session.closed_ms = closed
        state.session_opened(session)


def _load_subscriptions(connection: sqlite3.Connection, state: State) -> None:
    for number, topic_filter, options, identifier in connection.execute(
        "SELECT session, filter, options, identifier FROM subscriptions"
    ):
        session = state.numbers.get(number)
        if session is not None:
            subscription = Subscription(topic_filter, options, identifier)
            state.subscribed(session, subscription)


def _load_messages(
    connection: sqlite3.Connection, state: State, replay: Replay, now: float
) -> None:
    for number, topic, payload, flags, properties, owner, source in connection.execute(
        "SELECT m.number, r.topic, m.payload, m.flags, m.properties, r.owner, r.source"
        " FROM retained r JOIN messages m ON m.number = r.message"
    ):
        message = message_of(number, topic, payload, flags, properties)
        message.owner = None if owner is None else state.owners.get(owner)
        message.source = None if source is None else replay.sources.source_in(source)
        replay.messages[number] = message
        state.retained_set(topic, message)
    for session_number, packet_id, number, *contents in connection.execute(
        "SELECT i.session, i.packet_id, m.number, m.topic, m.payload, m.flags, m.properties"
        " FROM inbound i JOIN messages m ON m.number = i.message ORDER BY m.number"
    ):
        session = state.numbers.get(session_number)
        if session is not None:
            message = replay.messages.get(number) or message_of(number, *contents)
            if message.owner is None:
                message.owner = session.owner
            replay.messages[number] = message
            state.message_held(Held(session, packet_id, message, now))


def _load_outbound(connection: sqlite3.Connection, state: State) -> None:
    for number, packet_id, message, flags, position, step in connection.execute(
        "SELECT session, packet_id, message, flags, position, state FROM outbound"
        " ORDER BY session, position"
    ):
        session = state.numbers.get(number)
        if session is not None:
            delivery = Delivery(session, None, message, flags, position)
            delivery.packet_id = packet_id
            delivery.state = DeliveryState(min(step, DeliveryState.RECEIVED))
            delivery.pubrec = step - delivery.state
            session.pubrecs = max(session.pubrecs, delivery.pubrec)
            delivery.stored = True
            session.outbound.put(delivery)


def _load_queues(state: State) -> None:
    """Set the position and length of each session's queue on disk.

    Some positions at the start of a queue can have no row, because their deliveries were completed
    before the checkpoint wrote its rows. The replay of the journal removes these positions.
    """
    for session in state.sessions.values():
        session.stored_first = session.first_position
        session.stored_count = session.next_position - session.first_position
        session.queued_count = session.stored_count


def _load_wills(connection: sqlite3.Connection, state: State) -> None:
    for number, client_id, topic, payload, flags, delay, expiry, properties in connection.execute(
        "SELECT session, client_id, topic, payload, flags, delay, expiry, properties FROM wills"
    ):
        owner = state.numbers.get(number) or Session(number, client_id, False)
        field = topic_field_of(topic)
        will = Will(topic, field, payload, flags & 3, bool(flags & 4), delay, expiry, properties)
        state.will_set(owner, will)
