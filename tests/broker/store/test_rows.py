"""Rows of the tables and what they are read as."""

from gateway.broker.core.records import layout
from gateway.broker.core.sessions.message import Delivery, DeliveryState, Message, Will
from gateway.broker.core.sessions.session import Session
from gateway.broker.store.rows import (
    message_of,
    message_row,
    outbound_row,
    queue_row,
    session_row,
    will_row,
)


def test_a_row_of_a_message_becomes_the_message() -> None:
    section = layout.properties_section(1_234, b"\x01\x01")
    message = message_of(7, "t/\u00e9", b"payload", 2 | 4, section)
    assert (message.number, message.topic, message.payload) == (7, "t/\u00e9", b"payload")
    assert message.topic_field == b"\x00\x04t/\xc3\xa9"
    assert (message.qos, message.retain, message.stored) == (2, True, True)
    assert (message.expires_ms, message.forwarded) == (1_234, b"\x01\x01")
    plain = message_of(8, "t", b"", 0, None)
    assert (plain.qos, plain.retain, plain.forwarded) == (0, False, b"")


def test_a_message_is_read_from_its_row_as_it_was() -> None:
    for message in (
        message_of(7, "t/\u00e9", b"payload", 2 | 4 | 8, layout.properties_section(1_234, b"\x01")),
        message_of(8, "t", b"", 0, None),
    ):
        again = message_of(*message_row(message))
        for name in ("number", "topic", "topic_field", "payload", "qos", "retain", "has_place"):
            assert getattr(again, name) == getattr(message, name)
        assert (again.expires_ms, again.forwarded) == (message.expires_ms, message.forwarded)


def test_a_delivery_has_its_position_and_size_in_the_queue_and_its_state_in_flight() -> None:
    session = Session(3, "client", True)
    message = Message(9, "t", b"\x00\x01t", b"payload", 2, False)
    delivery = Delivery(session, message, 9, 2, 41)
    assert queue_row(delivery) == (3, 41, 9, 2, 10)
    assert queue_row(Delivery(session, None, 9, 2, 41)) == (3, 41, 9, 2, 0)
    delivery.packet_id = 5
    delivery.state = DeliveryState.SENT
    assert outbound_row(delivery) == (3, 5, 9, 2, 41, 1)
    delivery.state = DeliveryState.RECEIVED
    delivery.pubrec = 6
    assert outbound_row(delivery) == (3, 5, 9, 2, 41, 2 + 6)


def test_a_session_s_row_has_the_queue_of_the_time_at_which_the_checkpoint_began() -> None:
    session = Session(3, "client", True)
    session.protocol = 5
    session.frozen_first, session.frozen_position = 10, 20
    session.first_position, session.next_position = 11, 25
    session.last_packet_id = 8
    session.closed_ms, session.expiry_seconds, session.username = 1_000, 60, "ann"
    assert session_row(session) == (3, "client", 5, 10, 20, 8, 1_000, 60, "ann")


def test_a_will_s_row_has_its_qos_and_retain_flag_in_one_column() -> None:
    will = Will("t", b"\x00\x01t", b"payload", 1, True, 5, 60, b"\x01")
    assert will_row(3, "client", will) == (3, "client", "t", b"payload", 1 | 4, 5, 60, b"\x01")
