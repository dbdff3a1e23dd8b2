"""A PUBLISH that cannot be taken for now: it is refused with a reason code, or waits.

A PUBLISH waits where its client speaks a protocol before 5.0, which has no such reason code, and
where a queue only slows its publishers. It is not acknowledged meanwhile, keeps its place among
those of its connection, and soon its connection is not read any more.
"""

from typing import Final

from gateway.core.core import Core
from gateway.core.limits import PUT_OFF_BYTES_MAX, PUT_OFF_CONNECTIONS_MAX
from gateway.core.sessions.connection import Connection, PutOff
from gateway.core.timers import Timer, TimerKind
from gateway.wire.codes import QUOTA_EXCEEDED
from gateway.wire.encoder import encode
from gateway.wire.message_properties import forwarded_of
from gateway.wire.packets import Puback, Publish, Pubrec

PACKET_BYTES: Final = 300
"""What a PUBLISH costs in memory beside its topic and its payload."""

PROPERTY_FACTOR: Final = 40
"""Memory per byte of properties: a user property of five bytes becomes two strings
of 50 and their place."""


class PuttingOff:
    """Refuses what a 5.0 client sent, and keeps what others sent until it can be taken."""

    def __init__(self, core: Core) -> None:
        self.output = core.output
        self.statistics = core.statistics
        self.timers = core.timers
        self.effects = core.effects
        self.waiting: dict[Connection, None] = {}
        """Connections with a PUBLISH that waits."""
        self._open_count = PUT_OFF_CONNECTIONS_MAX
        """Of them, when they were last counted."""

    def refuse(self, connection: Connection, packet: Publish, reason: str) -> None:
        """Answer a PUBLISH of a 5.0 client at QoS 1 or 2 with 0x97, and count it."""
        self.statistics.count_error(reason)
        self.statistics.publishes_refused += 1
        # [MQTT5-4.3.3-4] a PUBREC with an error ends the exchange, as PUBACK does
        if packet.qos == 1:
            answer = encode(Puback(packet.packet_id, QUOTA_EXCEEDED), 5)
        else:
            answer = encode(Pubrec(packet.packet_id, QUOTA_EXCEEDED), 5)
        self.output.send(connection, answer)

    def put_off(self, connection: Connection, packet: Publish) -> None:
        """Keep a PUBLISH behind those of its connection that wait already."""
        put_off = connection.put_off
        if not put_off.packets:
            self._forget_closed()
            self.waiting[connection] = None
        put_off.packets.append(packet)
        put_off.bytes_count += PACKET_BYTES + len(packet.topic_field) + len(packet.payload)
        properties = packet.properties
        if properties is not None:
            properties.topic_alias = None  # it is resolved, and may soon stand for another topic
            put_off.bytes_count += PROPERTY_FACTOR * len(forwarded_of(properties))
        if put_off.bytes_count > PUT_OFF_BYTES_MAX or len(self.waiting) > PUT_OFF_CONNECTIONS_MAX:
            put_off.is_full = True

    def _forget_closed(self) -> None:
        """Let clients that give up and come back leave nothing behind."""
        if len(self.waiting) > 2 * self._open_count:
            self.waiting = {each: None for each in self.waiting if each.is_open}
            self._open_count = max(PUT_OFF_CONNECTIONS_MAX, len(self.waiting))

    def take(self, connection: Connection) -> None:
        """Have what waits handled again, before anything that came behind it."""
        self.waiting.pop(connection, None)
        packets = connection.put_off.packets
        if packets and connection.is_open:
            connection.put_off = PutOff()
            connection.undecided = [*packets, *connection.undecided]
            connection.behind = True
            self.effects.resumed.append(connection)

    def take_all(self) -> None:
        """Have everything that waits handled again."""
        for connection in list(self.waiting):
            self.take(connection)

    def retry_all(self, when: float) -> None:
        """Have everything that waits handled again at a time, each time beginning with another
        connection: the first may take all the room."""
        for first in self.waiting:
            del self.waiting[first]
            self.waiting[first] = None
            break
        for connection in self.waiting:
            if connection.is_open:
                self.timers.add(when, Timer(TimerKind.PUT_OFF, connection, None))
