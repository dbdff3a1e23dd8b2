"""Short functions for events of a log, with the fields that the broker writes."""

from __future__ import annotations

from typing import Any

from tests.contract.segments import TIME_MS

Event = dict[str, Any]


def event(kind: str, session: int = 2, **fields: Any) -> Event:
    """Return an event of a session. The publisher is session 1, the subscriber session 2."""
    return {"event": kind, "session": session, "client_id": f"client-{session}", **fields}


def opened(session: int, *, clean: bool = False, protocol: int = 4) -> Event:
    """Return the event of a new session."""
    return event(
        "session_opened",
        session,
        clean=clean,
        protocol=protocol,
        keep_alive_seconds=60,
        session_expiry_seconds=0 if clean else 4294967295,
        address="127.0.0.1:1",
    )


def subscribed(session: int, topic_filter: str = "t/#", qos: int = 2) -> Event:
    """Return the event of a new subscription."""
    return event("subscribed", session, filter=topic_filter, qos=qos)


def held(message: int, packet_id: int = 1) -> Event:
    """Return the event of a received PUBLISH at QoS 2."""
    fields = {"topic": "t/1", "qos": 2, "retain": False, "payload_bytes": 1, "payload": "1"}
    return event("message_held", 1, packet_id=packet_id, message=message, **fields)


def repeated(message: int, packet_id: int = 1) -> Event:
    """Return the event of a repeated PUBLISH at QoS 2."""
    return event("duplicate_suppressed", 1, packet_id=packet_id, message=message)


def released(message: int, packet_id: int = 1, matched: int = 1) -> Event:
    """Return the event of a PUBREL that releases a message to `matched` sessions."""
    return event("message_released", 1, packet_id=packet_id, message=message, matched=matched)


def published(message: int, matched: int = 1) -> Event:
    """Return the event of a received PUBLISH at QoS 1."""
    fields = {"topic": "t/1", "qos": 1, "retain": False, "payload_bytes": 1, "payload": "1"}
    return event(
        "message_published", 1, message=message, matched=matched, origin="client", **fields
    )


def queued(message: int, position: int, session: int = 2, qos: int = 2) -> Event:
    """Return the event of a message that is queued for a session."""
    return event("message_queued", session, message=message, qos=qos, position=position)


def started(
    message: int, position: int, packet_id: int = 1, session: int = 2, qos: int = 2
) -> Event:
    """Return the event of a PUBLISH to the subscriber."""
    fields = {"packet_id": packet_id, "message": message, "qos": qos, "position": position}
    return event("delivery_started", session, **fields)


def resent(message: int, packet: str, packet_id: int = 1) -> Event:
    """Return the event of a PUBLISH or PUBREL that is sent again."""
    return event("delivery_resent", packet_id=packet_id, message=message, packet=packet)


def received(message: int, packet_id: int = 1) -> Event:
    """Return the event of a PUBREC from the subscriber."""
    return event("delivery_received", packet_id=packet_id, message=message)


def completed(message: int, packet_id: int = 1, session: int = 2) -> Event:
    """Return the event of a PUBCOMP or PUBACK from the subscriber."""
    return event("delivery_completed", session, packet_id=packet_id, message=message)


def dropped(message: int, reason: str = "queue_full", session: int = 2) -> Event:
    """Return the event of a message that does not reach this session."""
    return event("message_dropped", session, message=message, reason=reason)


def ended(session: int, reason: str = "expired") -> Event:
    """Return the event of a session whose state is discarded."""
    return event("session_ended", session, reason=reason)


def delivered(message: int, position: int, packet_id: int = 1) -> list[Event]:
    """Return the events of a delivery at QoS 2, from PUBLISH to PUBCOMP."""
    ids = {"packet_id": packet_id}
    return [
        started(message, position, **ids),
        received(message, **ids),
        completed(message, **ids),
    ]


def one_batch(*events: Event) -> list[Event]:
    """Return the events with one time, because they are committed together."""
    return [one | {"time": TIME_MS + 60_000} for one in events]


def begin(*more: Event) -> list[Event]:
    """Return a log that begins with a publisher and a subscriber."""
    return [opened(1), opened(2), subscribed(2), *more]


def life(message: int, position: int) -> list[Event]:
    """Return all events of a message, from its PUBLISH to the subscriber's PUBCOMP."""
    return [held(message), released(message), *delivered(message, position)]
