"""Behaviour while the disk is full: new messages are refused, existing ones are still delivered.

Deliveries, acknowledgements of subscribers and releases of held messages need little space, and
free more than they need. A message that would have to be stored is refused, or waits (`put_off`).
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.rules.put_off import Deferral
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.packets import Connect, Publish

DISK_FULL: Final = "disk_full"
"""Reason in statistics for refused and dropped messages."""


class FullDisk:
    """Decides what happens to packets that need disk space while `Limits.disk_full` is set."""

    def __init__(self, core: Core, putting_off: Deferral) -> None:
        self.state = core.state
        self.limits = core.limits
        self.statistics = core.statistics
        self.putting_off = putting_off

    def takes(self, session: Session, connection: Connection, packet: Publish) -> bool:
        """Return True if a PUBLISH was refused, dropped or deferred, and must not be processed
        further.
        """
        if packet.qos == 2 and packet.packet_id in session.inbound:
            return False  # a repeat of a held message
        if not self._needs_disk(session, packet):
            return False
        if packet.qos == 0:
            self.statistics.drop(None, packet.topic, DISK_FULL)
        elif connection.version == 5:
            self.putting_off.refuse(connection, packet, DISK_FULL)
        else:
            self.putting_off.put_off(connection, packet)
        return True

    def _needs_disk(self, session: Session, packet: Publish) -> bool:
        """Return True if a message would have to be recorded. See `Admission.must_record`."""
        route = self.state.tree.route_of(packet.topic)
        if route.is_system:
            return False
        if route.logged or packet.retain:
            return True
        if packet.qos and (route.durable or session.persistent):
            return True
        return route.persistent and self.limits.mqueue_store_qos0

    def refuses(self, packet: Connect, expiry_seconds: int) -> bool:
        """Return True if a CONNECT without a session needs disk space that is not available.

        It does if it has a will, or if its session would outlive the connection.
        """
        if not self.limits.disk_full:
            return False
        return self.is_persistent(packet, expiry_seconds) or packet.will is not None

    @staticmethod
    def is_persistent(packet: Connect, expiry_seconds: int) -> bool:
        """Return True if the session of this CONNECT outlives its connection."""
        return not packet.clean_start if packet.protocol_level < 5 else expiry_seconds > 0
