"""Converts sessions to objects for the control socket (docs/formats/control-socket.md)."""

import asyncio
from typing import Any

from gateway.broker.core.sessions.message import STATE_NAMES
from gateway.broker.core.sessions.session import Session
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.host.clock import WallClock

LISTED_MAX = 1_000
"""Maximum number of subscriptions, and of deliveries, listed for one session."""


def session_of(session: Session, event_loop: EventLoop) -> dict[str, Any]:
    """Return a session's entry in the list of sessions."""
    connection = session.connection
    channel = None if connection is None else event_loop.channels.get(connection)
    return {
        "client_id": session.client_id,
        "session": session.number,
        "connected": connection is not None,
        "clean": not session.persistent,
        "protocol": session.protocol,
        "username": session.username,
        "listener": session.listener or None,
        "tls": None if channel is None else channel.is_encrypted,
        "address": None if connection is None else connection.address,
        "connected_since_ms": None
        if connection is None
        else _wall_ms_at(connection.connected_at, event_loop.wall_clock),
        "last_seen_ms": last_seen_of(session, event_loop),
        "keep_alive_seconds": 0 if connection is None else connection.keep_alive_seconds,
        "subscription_count": len(session.subscriptions),
        "inflight": len(session.outbound),
        "awaiting_release": len(session.inbound),
        "queued_messages": session.queued_count,
        "queued_bytes": session.queued_bytes,
        "dropped_messages": session.dropped_messages,
        "received_messages": session.received_messages,
        "delivered_messages": session.delivered_messages,
    }


def session_detail_of(session: Session, event_loop: EventLoop) -> dict[str, Any]:
    """Return a session with its subscriptions and its messages in flight."""
    detail = session_of(session, event_loop)
    detail["denials"] = session.denials
    detail["subscriptions"] = [
        {"filter": subscription.topic_filter, "qos": subscription.qos}
        for subscription in list(session.subscriptions.values())[:LISTED_MAX]
    ]
    detail["inflight"] = [
        {
            "packet_id": delivery.packet_id,
            "message": delivery.message_number,
            "qos": delivery.qos,
            "state": STATE_NAMES[delivery.state],
        }
        for delivery in session.outbound.values()[:LISTED_MAX]
    ]
    return detail


def last_seen_of(session: Session, event_loop: EventLoop) -> int | None:
    """Return the time of a client's last packet, or of its disconnection if it is not connected.

    The time is in milliseconds since 1970, or None if unknown. It is calculated from the current
    wall clock. If the broker was stopped for an unknown time after the disconnection, the result is
    later than the actual time.
    """
    if session.connection is not None:
        return _wall_ms_at(session.connection.last_packet, event_loop.wall_clock)
    if not session.closed_ms:
        return None
    time = event_loop.broker.state.time
    time.advance(asyncio.get_running_loop().time())
    return event_loop.wall_clock.time_ms() - time.age_ms(session.closed_ms)


def _wall_ms_at(when: float, wall_clock: WallClock) -> int:
    """Convert a time of the event loop's clock to wall time, in milliseconds since 1970."""
    since_seconds = asyncio.get_running_loop().time() - when
    return wall_clock.time_ms() - int(since_seconds * 1000)
