"""What the control socket tells about the broker, as docs/formats/control-socket.md draws it."""

import os
from typing import Any

from gateway.core.sessions.message import STATE_NAMES
from gateway.core.sessions.session import Session
from gateway.server.compiled import COMPILED
from gateway.server.session_totals import SessionTotals
from gateway.server.shell import Shell

LISTED_MAX = 1_000
"""Subscriptions and deliveries shown for one session."""

COMMIT_SLOW_SECONDS = 2.0
"""A commit that takes this long is worth a warning: a card near its end, or far too busy."""


class Identity:
    """What does not change while the process runs."""

    def __init__(
        self, gateway: str, boot: str, version: str, recovery: str, damage: str | None
    ) -> None:
        self.gateway = gateway
        self.boot = boot
        self.version = version
        self.recovery = recovery
        self.damage = damage


def status_of(
    shell: Shell,
    identity: Identity,
    listeners: list[dict[str, Any]],
    state: str,
    totals: SessionTotals,
) -> dict[str, Any]:
    """Return the whole status; `totals` have been counted to their end."""
    broker, statistics = shell.broker, shell.broker.statistics
    time_ms, quality = shell.wall_clock.shown()
    uptime_seconds = shell.uptime_seconds()
    return {
        "gateway": identity.gateway,
        "boot": identity.boot,
        "version": identity.version,
        "compiled": COMPILED,
        "pid": os.getpid(),
        "state": state,
        "time_ms": time_ms,
        "clock": quality.word,
        "started_ms": time_ms - int(uptime_seconds * 1000),
        "uptime_seconds": round(uptime_seconds, 3),
        "listeners": listeners,
        "connections": {
            "open": statistics.connections_open,
            "accepted": statistics.connections_accepted,
            "refused": statistics.connections_refused,
            "limit": broker.limits.max_connections,
        },
        "sessions": {
            "connected": totals.connected,
            "persistent": totals.persistent,
            "total": totals.sessions,
        },
        "subscriptions": broker.state.tree.subscription_count,
        "retained": len(broker.state.retained),
        "messages": {
            "received": {
                "qos0": statistics.received_qos0,
                "qos1": statistics.received_qos1,
                "qos2": statistics.received_qos2,
            },
            "sent": {
                "qos0": statistics.sent_qos0,
                "qos1": statistics.sent_qos1,
                "qos2": statistics.sent_qos2,
            },
            "dropped": dict(sorted(statistics.dropped.items())),
            "duplicates_suppressed": statistics.duplicates_suppressed,
        },
        "queued": {
            "messages": totals.queued_messages,
            "bytes": totals.queued_bytes,
        },
        "inflight": totals.inflight,
        "awaiting_release": totals.awaiting_release,
        "errors": dict(sorted(statistics.errors.items())),
        "journal": _journal_of(shell),
        "disk": None if shell.housekeeping is None else shell.housekeeping.status(),
        "store": {"recovery": identity.recovery, "detail": identity.damage},
        "hooks": None if shell.hooks is None else shell.hooks.status(),
        "warnings": _warnings_of(shell, identity),
    }


def _journal_of(shell: Shell) -> dict[str, Any]:
    figures, recorder = shell.committer.figures, shell.broker.recorder
    return {
        "batches": figures.batches,
        "facts": recorder.next_sequence - shell.first_sequence,
        "first_sequence": shell.first_sequence,
        "last_sequence": recorder.next_sequence - 1,
        "exported_sequence": shell.store.exported_sequence,
        "bytes": shell.store.journal_total_bytes,
        "commit_ms_mean": round(figures.mean_ms(), 3),
        "commit_ms_max": round(1000 * figures.seconds_max, 3),
    }


def _warnings_of(shell: Shell, identity: Identity) -> list[str]:
    warnings: list[str] = []
    if identity.damage is not None:
        warnings.append(
            f"The data on disk were damaged at the last start: {identity.damage}. "
            "See what is missing: oncegate audit."
        )
    if shell.limits.disk_full:
        warnings.append(
            "The disk is full: nothing new is taken, what is there is delivered. Free space, or "
            "use a larger disk (disk.free_bytes, [disk] free_min)."
        )
    if shell.store.journal_total_bytes > shell.batch_limits.max_journal // 2:
        warnings.append(
            "The journal is more than half full because it is not being exported: "
            "look whether the uploader runs (oncegate upload)."
        )
    if shell.committer.figures.seconds_max > COMMIT_SLOW_SECONDS:
        warnings.append(
            f"The slowest write took {shell.committer.figures.seconds_max:.1f} s: "
            "the SD card is very busy or wearing out."
        )
    dropped = sum(shell.broker.statistics.dropped.values())
    if dropped:
        warnings.append(
            f"{dropped} messages were dropped for receivers that were away or too slow: "
            "see messages.dropped, and [mqtt] max_mqueue_len and max_mqueue_bytes."
        )
    if shell.hooks is not None:
        warnings += shell.hooks.warnings()
    return warnings


def session_of(session: Session, shell: Shell) -> dict[str, Any]:
    """Return what the list of sessions shows of one."""
    connection = session.connection
    return {
        "client_id": session.client_id,
        "session": session.number,
        "connected": connection is not None,
        "clean": not session.durable,
        "protocol": session.protocol,
        "address": None if connection is None else connection.address,
        "connected_since_ms": None
        if connection is None
        else shell.wall_ms_at(connection.connected_at),
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


def session_detail_of(session: Session, shell: Shell) -> dict[str, Any]:
    """Return a session with its subscriptions and what is in flight."""
    detail = session_of(session, shell)
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
        for delivery in list(session.outbound.values())[:LISTED_MAX]
    ]
    return detail
