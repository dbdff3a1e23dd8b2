"""Rules for a full disk: new messages are refused, and existing messages are still delivered.

Deliveries, acknowledgements from subscribers and PUBREL need little space, and free more than they
need. A message that would have to be stored is refused, or deferred (`defer`).
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.rules.deliver import defer
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.packets import Connect, Publish

DISK_FULL: Final = "disk_full"
"""Reason in statistics for refused and dropped messages."""


def refused_or_deferred(
    core: Core, session: Session, connection: Connection, packet: Publish
) -> bool:
    """Refuse, drop or defer a PUBLISH whose message cannot be stored because the disk is full.

    Return True if the PUBLISH was refused, dropped or deferred. The caller must then stop
    processing it.
    """
    if packet.qos == 2 and packet.packet_id in session.inbound:
        return False  # a repeat of a held message
    if not _needs_disk(core, session, packet):
        return False
    if packet.qos == 0:
        core.statistics.drop(None, packet.topic, DISK_FULL)
    elif connection.version == 5:
        defer.refuse(core, connection, packet, DISK_FULL)
    else:
        defer.defer(core, connection, packet)
    return True


def _needs_disk(core: Core, session: Session, packet: Publish) -> bool:
    """Return True if the message in a PUBLISH must be recorded in the journal.

    The conditions are the same as in `admission.must_record`.
    """
    route = core.state.tree.route_of(packet.topic)
    if route.is_system:
        return False
    if route.logged or packet.retain:
        return True
    if packet.qos and (route.durable or session.persistent):
        return True
    return route.persistent and core.limits.mqueue_store_qos0


def refuses(core: Core, packet: Connect, expiry_seconds: int) -> bool:
    """Return True if a CONNECT for a new session needs disk space while the disk is full.

    A new session needs space if it has a will, or if it outlives its connection.
    """
    if not core.limits.disk_full:
        return False
    return is_persistent(packet, expiry_seconds) or packet.will is not None


def is_persistent(packet: Connect, expiry_seconds: int) -> bool:
    """Return True if the session that a CONNECT creates will outlive its connection."""
    return not packet.clean_start if packet.protocol_level < 5 else expiry_seconds > 0
