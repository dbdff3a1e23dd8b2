"""What the broker does while the disk has no room: nothing new is taken, what is there goes on.

Deliveries, acknowledgements of subscribers and the release of messages that are held take little
room, and give more back. What would have to be kept is refused where the protocol has a word for
it. Before 5.0 it has none: such a PUBLISH waits, unacknowledged, and soon its connection is not
read any more.
"""

from typing import Final

from gateway.core.core import Core
from gateway.core.sessions.connection import Connection, PutOff
from gateway.core.sessions.session import Session
from gateway.core.violation import QUOTA_EXCEEDED
from gateway.wire.encoder import encode
from gateway.wire.packets import Connect, Puback, Publish, Pubrec

DISK_FULL: Final = "disk_full"
"""How what is refused and dropped is counted."""


MANY: Final = 100
"""Connections that wait before it is worth looking which of them are closed."""


class FullDisk:
    """Decides about what needs the disk while `Limits.disk_full`."""

    def __init__(self, core: Core) -> None:
        self.state = core.state
        self.output = core.output
        self.limits = core.limits
        self.statistics = core.statistics
        self.waiting: list[Connection] = []
        """Connections with a PUBLISH that waits for room."""
        self._open_count = MANY
        """Of them, when they were last counted."""

    def takes(self, session: Session, connection: Connection, packet: Publish) -> bool:
        """Return whether a PUBLISH was refused, dropped or put off: nothing else is to be done."""
        if packet.qos == 2 and packet.packet_id in session.inbound:
            return False  # a repeat of what is held already
        if not self._needs_disk(session, packet):
            return False
        if packet.qos == 0:
            self.statistics.drop(None, packet.topic, DISK_FULL)
        elif connection.version == 5:
            self.statistics.count_error(DISK_FULL)
            self.statistics.publishes_refused += 1
            self._refuse(connection, packet)
        else:
            self._put_off(connection, packet)
        return True

    def _needs_disk(self, session: Session, packet: Publish) -> bool:
        """Return whether a message would have to be recorded: see `Admission.must_record`."""
        route = self.state.tree.route_of(packet.topic)
        if route.is_system:
            return False
        if route.logged or packet.retain:
            return True
        if packet.qos and (route.durable or session.persistent):
            return True
        return route.persistent and self.limits.mqueue_store_qos0

    def _refuse(self, connection: Connection, packet: Publish) -> None:
        # [MQTT5-4.3.3-4] a PUBREC with an error ends the exchange, as PUBACK does
        if packet.qos == 1:
            answer = encode(Puback(packet.packet_id, QUOTA_EXCEEDED), 5)
        else:
            answer = encode(Pubrec(packet.packet_id, QUOTA_EXCEEDED), 5)
        self.output.send(connection, answer)

    def _put_off(self, connection: Connection, packet: Publish) -> None:
        put_off = connection.put_off
        if not put_off.packets:
            if len(self.waiting) > 2 * self._open_count:
                # Clients that give up and come back leave nothing behind.
                self.waiting = [each for each in self.waiting if each.is_open]
                self._open_count = max(MANY, len(self.waiting))
            self.waiting.append(connection)
        put_off.packets.append(packet)
        put_off.bytes_count += len(packet.topic_field) + len(packet.payload)

    def refuses(self, packet: Connect, expiry_seconds: int) -> bool:
        """Return whether a CONNECT without a session needs a disk that is full: for a session that
        outlives it, or for its will."""
        if not self.limits.disk_full:
            return False
        is_persistent = not packet.clean_start if packet.protocol_level < 5 else expiry_seconds > 0
        return is_persistent or packet.will is not None

    def take_waiting(self) -> list[tuple[Connection, list[Publish]]]:
        """Return what was put off, by connection, in the order in which it came."""
        waiting: list[tuple[Connection, list[Publish]]] = []
        for connection in self.waiting:
            waiting.append((connection, connection.put_off.packets))
            connection.put_off = PutOff()
        self.waiting = []
        return waiting
