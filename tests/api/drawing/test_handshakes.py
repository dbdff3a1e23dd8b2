"""Handshakes as the steps of a sequence diagram."""

from api.drawing.handshakes import Step, steps_of
from tests.api.drawing.test_event_lines import event


def shown(*events: tuple[str, dict[str, object]]) -> list[tuple[str, str, bool]]:
    steps: list[Step] = steps_of(event(name, **fields) for name, fields in events)
    return [(step.direction, step.text, step.is_durable) for step in steps]


def test_a_message_at_qos2_is_durable_before_each_answer() -> None:
    exchange = {"packet_id": 7, "message": 3, "topic": "t"}
    assert shown(("message_held", exchange), ("message_released", {**exchange, "matched": 1})) == [
        ("in", "PUBLISH 7, QoS 2", True),
        ("out", "PUBREC 7", False),
        ("in", "PUBREL 7", True),
        ("out", "PUBCOMP 7", False),
    ]


def test_a_duplicate_is_answered_and_not_stored_again() -> None:
    ((_, first, durable), (_, second, _)) = shown(("duplicate_suppressed", {"packet_id": 7}))
    assert (first, second, durable) == ("PUBLISH 7 again, QoS 2", "PUBREC 7", False)


def test_messages_that_were_not_held() -> None:
    client: dict[str, object] = {"origin": "client", "topic": "t"}
    assert shown(("message_published", client | {"qos": 0})) == [("in", "PUBLISH, QoS 0", False)]
    assert shown(("message_published", client | {"qos": 1})) == [
        ("in", "PUBLISH, QoS 1", True),
        ("out", "PUBACK", False),
    ]
    assert [text for _, text, _ in shown(("message_published", client | {"qos": 2}))] == [
        *("PUBLISH, QoS 2", "PUBREC", "PUBREL", "PUBCOMP")
    ]
    will: dict[str, object] = {"origin": "will", "qos": 1, "topic": "t"}
    assert shown(("message_published", will)) == [("here", "Message received", True)]


def test_deliveries_end_by_their_qos() -> None:
    one: dict[str, object] = {"packet_id": 1, "message": 8, "qos": 1}
    two: dict[str, object] = {"packet_id": 2, "message": 9, "qos": 2}
    assert shown(
        ("delivery_started", one),
        ("delivery_started", two),
        ("delivery_received", {"packet_id": 2, "message": 9}),
        ("delivery_resent", {"packet_id": 2, "message": 9, "packet": "pubrel"}),
        ("delivery_completed", {"packet_id": 2, "message": 9}),
        ("delivery_completed", {"packet_id": 1, "message": 8}),
    ) == [
        ("out", "PUBLISH 1, QoS 1", False),
        ("out", "PUBLISH 2, QoS 2", False),
        ("in", "PUBREC 2", True),
        ("out", "PUBREL 2", False),
        ("out", "PUBREL 2 again", False),
        ("in", "PUBCOMP 2", True),
        ("in", "PUBACK 1", True),
    ]


def test_a_delivery_whose_beginning_is_not_known_is_not_guessed() -> None:
    assert shown(("delivery_completed", {"packet_id": 2, "message": 9})) == [
        ("in", "PUBACK or PUBCOMP 2", True)
    ]
    assert shown(("delivery_completed", {"packet_id": 0, "message": 9})) == [
        ("out", "PUBLISH, QoS 0", False)
    ]


def test_connections_and_restarts_are_bands_and_losses_are_marked() -> None:
    steps = steps_of([event("session_closed", reason="network"), event("broker_started")])
    assert [step.is_band for step in steps] == [True, True]
    (dropped,) = steps_of([event("message_dropped", reason="queue_full", topic="t")])
    assert (dropped.is_loss, dropped.name, dropped.note) == (True, "t", "queue full")
