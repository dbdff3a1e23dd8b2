"""Events described in words."""

import pytest

from api.drawing.event_lines import HANDSHAKES, LOSSES, RESTARTS, Kind, line_of, title_of
from api.models.events import Event
from gateway.broker.core.records.kinds import Observation, RecordKind


def event(name: str, **fields: object) -> Event:
    return Event.model_validate({"sequence": 7, "time": 1_000, "event": name, **fields})


STORED_OTHERWISE = {
    RecordKind.OBSERVED,
    RecordKind.DELIVERED_AT_QOS0,
    RecordKind.EXPIRY_CHANGED,
}
"""Kinds of records whose events have different names."""

NAMES = {kind.word for kind in (*RecordKind, *Observation) if kind not in STORED_OTHERWISE} | {
    "session_expiry_changed"
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_event_has_words_of_its_own_and_a_kind(name: str) -> None:
    assert title_of(name) != name.replace("_", " ")
    assert any(name in kind.names for kind in Kind)


def test_kinds_and_handshakes_name_only_events_that_exist() -> None:
    named = {name for kind in Kind for name in kind.names} | {*HANDSHAKES, *RESTARTS, *LOSSES}
    assert named <= NAMES


@pytest.mark.parametrize(
    ("given", "name", "facts"),
    [
        (
            event("message_held", packet_id=7, topic="t", qos=2, payload_bytes=1_500, retain=False),
            "t",
            "packet 7, QoS 2, 1.5\u00a0KiB",
        ),
        (event("message_released", packet_id=7, matched=1), "", "packet 7, to 1 session"),
        (event("session_opened", protocol=5, address="192.0.2.7:1"), "", "MQTT 5.0, 192.0.2.7:1"),
        (event("session_closed", reason="keep_alive"), "", "keep alive"),
        (event("subscribed", filter="a/#", qos=1), "a/#", "QoS 1"),
        (event("serial_port_lost", port="gps", detail="unplugged"), "gps", "unplugged"),
        (event("clock_stepped", step_ms=-3_000), "", "by -3,000 ms"),
        (event("log_truncated", from_sequence=1, to_sequence=1_200), "", "events 1 to 1,200"),
        (event("operated", action="kick", detail="'ben': done"), "", "kick, 'ben': done"),
        (event("broker_started", recovery="clean", version="0.1.0"), "", "clean, version 0.1.0"),
        (event("from_a_newer_broker", topic=["x"], qos="2", detail=None), "", ""),
    ],
    ids=lambda value: value.event if isinstance(value, Event) else "",
)
def test_a_line_has_the_events_name_and_facts(given: Event, name: str, facts: str) -> None:
    line = line_of(given)
    assert (line.name, line.facts) == (name, facts)


def test_a_loss_is_marked() -> None:
    assert line_of(event("message_dropped", reason="queue_full")).is_loss
    assert not line_of(event("message_held")).is_loss
