"""Events of a log as the broker writes them, with as few words as a case can have."""

from __future__ import annotations

from typing import Any

from tests.contract.segments import TIME_MS

Event = dict[str, Any]


def event(kind: str, session: int = 2, **fields: Any) -> Event:
    """An event of a session; the publisher is session 1, the subscriber 2."""
    return {"event": kind, "session": session, "client_id": f"client-{session}", **fields}


def opened(session: int, *, clean: bool = False, protocol: int = 4) -> Event:
    """A session begins."""
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
    """A subscription is made."""
    return event("subscribed", session, filter=topic_filter, qos=qos)


def held(message: int, packet_id: int = 1) -> Event:
    """PUBLISH at QoS 2."""
    fields = {"topic": "t/1", "qos": 2, "retain": False, "payload_bytes": 1, "payload": "1"}
    return event("message_held", 1, packet_id=packet_id, message=message, **fields)


def repeated(message: int, packet_id: int = 1) -> Event:
    """The same PUBLISH again."""
    return event("duplicate_suppressed", 1, packet_id=packet_id, message=message)


def released(message: int, packet_id: int = 1, matched: int = 1) -> Event:
    """PUBREL."""
    return event("message_released", 1, packet_id=packet_id, message=message, matched=matched)


def published(message: int, matched: int = 1) -> Event:
    """A message of QoS 1."""
    fields = {"topic": "t/1", "qos": 1, "retain": False, "payload_bytes": 1, "payload": "1"}
    return event(
        "message_published", 1, message=message, matched=matched, origin="client", **fields
    )


def queued(message: int, position: int, session: int = 2, qos: int = 2) -> Event:
    """The message waits."""
    return event("message_queued", session, message=message, qos=qos, position=position)


def started(
    message: int, position: int, packet_id: int = 1, session: int = 2, qos: int = 2
) -> Event:
    """PUBLISH to the subscriber."""
    fields = {"packet_id": packet_id, "message": message, "qos": qos, "position": position}
    return event("delivery_started", session, **fields)


def resent(message: int, packet: str, packet_id: int = 1) -> Event:
    """PUBLISH or PUBREL again."""
    return event("delivery_resent", packet_id=packet_id, message=message, packet=packet)


def received(message: int, packet_id: int = 1) -> Event:
    """PUBREC."""
    return event("delivery_received", packet_id=packet_id, message=message)


def completed(message: int, packet_id: int = 1, session: int = 2) -> Event:
    """PUBCOMP or PUBACK."""
    return event("delivery_completed", session, packet_id=packet_id, message=message)


def dropped(message: int, reason: str = "queue_full", session: int = 2) -> Event:
    """The message does not reach this session."""
    return event("message_dropped", session, message=message, reason=reason)


def ended(session: int, reason: str = "expired") -> Event:
    """The session's state is discarded."""
    return event("session_ended", session, reason=reason)


def delivered(message: int, position: int, packet_id: int = 1) -> list[Event]:
    """From PUBLISH to PUBCOMP."""
    ids = {"packet_id": packet_id}
    return [
        started(message, position, **ids),
        received(message, **ids),
        completed(message, **ids),
    ]


def one_batch(*events: Event) -> list[Event]:
    """Events that are committed together have one time."""
    return [one | {"time": TIME_MS + 60_000} for one in events]


def begin(*more: Event) -> list[Event]:
    """Publisher and subscriber are there."""
    return [opened(1), opened(2), subscribed(2), *more]


def life(message: int, position: int) -> list[Event]:
    """A message from PUBLISH to PUBCOMP of its subscriber."""
    return [held(message), released(message), *delivered(message, position)]
