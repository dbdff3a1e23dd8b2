"""The session log's events: the steps of a message, and the fields of each event."""

from tests.broker.core.harness import Harness
from tests.broker.core.records.story import events_of, record_a_life


def test_the_events_of_a_qos_2_message_tell_its_way(harness: Harness) -> None:
    record_a_life(harness)
    names = [event["event"] for event in events_of(harness)]
    assert names == [
        "broker_started",
        "session_opened",
        "subscribed",
        "session_closed",
        "session_opened",
        "will_set",
        "message_held",
        "duplicate_suppressed",
        "message_released",
        "retained_set",
        "message_queued",
        "session_resumed",
        "delivery_started",
        "delivery_received",
        "unsubscribed",
        "will_cleared",
        "session_closed",
        "serial_port_lost",
    ]


def test_events_carry_the_fields_of_the_contract(harness: Harness) -> None:
    record_a_life(harness)
    events = {str(event["event"]): event for event in events_of(harness)}
    assert events["message_held"] == {
        "event": "message_held",
        "session": 2,
        "client_id": "p",
        "packet_id": 5,
        "message": 1,
        "topic": "sensors/x",
        "qos": 2,
        "retain": True,
        "payload": b"21.5",
    }
    assert events["message_released"]["matched"] == 1
    assert events["delivery_started"]["message"] == 1
    assert events["session_closed"]["reason"] == "disconnect"
    assert events["serial_port_lost"] == {
        "event": "serial_port_lost",
        "port": "gps",
        "detail": "unplugged",
    }
