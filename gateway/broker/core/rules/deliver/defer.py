"""Deferral of PUBLISH packets that cannot be accepted now.

A PUBLISH from an MQTT 5.0 client can be refused with a reason code. A PUBLISH from a client with an
older version is deferred instead. If a queue slows its publishers, every PUBLISH for this queue is
deferred, whatever the client's version. A deferred PUBLISH is not acknowledged, and keeps its
position among the packets of its connection. If too many packets are deferred, the broker stops
reading from the connection.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.limits import DEFERRED_BYTES_MAX, DEFERRED_CONNECTIONS_MAX
from gateway.broker.core.sessions.connection import Connection, DeferredPackets
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.wire.codes import QUOTA_EXCEEDED
from gateway.broker.wire.kinds import PUBACK, PUBREC
from gateway.broker.wire.message_properties import forwarded_of
from gateway.broker.wire.packets import Publish

PACKET_BYTES: Final = 300
"""Memory of a PUBLISH in addition to its topic and payload, in bytes."""

PROPERTY_FACTOR: Final = 40
"""Memory per byte of properties: a user property of five bytes becomes two strings of 50 and their
slots."""


def refuse(core: Core, connection: Connection, packet: Publish, reason: str) -> None:
    """Answer a QoS 1 or 2 PUBLISH from an MQTT 5.0 client with 0x97 (quota exceeded).

    `reason` is the name of the error counter to increase.
    """
    core.statistics.count_error(reason)
    core.statistics.publishes_refused += 1
    # [MQTT5-4.3.3-4] a PUBREC with an error ends the exchange, like PUBACK
    kind = PUBACK if packet.qos == 1 else PUBREC
    core.output.acknowledge_with(connection, kind, packet.packet_id, QUOTA_EXCEEDED)


def defer(core: Core, connection: Connection, packet: Publish) -> None:
    """Append a PUBLISH to the deferred packets of its connection."""
    deferred = connection.deferred
    if not deferred.packets:
        _forget_closed(core)
        core.deferred[connection] = None
    deferred.packets.append(packet)
    deferred.bytes_count += PACKET_BYTES + len(packet.topic_field) + len(packet.payload)
    properties = packet.properties
    if properties is not None:
        properties.topic_alias = None  # it is resolved, and may soon mean another topic
        deferred.bytes_count += PROPERTY_FACTOR * len(forwarded_of(properties))
    if deferred.bytes_count > DEFERRED_BYTES_MAX or len(core.deferred) > DEFERRED_CONNECTIONS_MAX:
        deferred.is_full = True


def _forget_closed(core: Core) -> None:
    """Remove closed connections from the list of connections with deferred packets.

    Otherwise, clients that reconnect constantly would make the list grow without limit.
    """
    if len(core.deferred) > 2 * core.deferred_open_count:
        core.deferred = {each: None for each in core.deferred if each.is_open}
        core.deferred_open_count = max(DEFERRED_CONNECTIONS_MAX, len(core.deferred))


def take(core: Core, connection: Connection) -> None:
    """Queue a connection's deferred packets to be processed again, before its later packets."""
    core.deferred.pop(connection, None)
    packets = connection.deferred.packets
    if packets and connection.is_open:
        connection.deferred = DeferredPackets()
        connection.unprocessed = [*packets, *connection.unprocessed]
        connection.has_more_work = True
        core.effects.resumed.append(connection)


def take_all(core: Core) -> None:
    """Queue the deferred PUBLISH packets of all connections to be processed again."""
    for connection in list(core.deferred):
        take(core, connection)


def retry_all(core: Core, due: float) -> None:
    """Schedule the deferred packets of all connections to be processed again at the time `due`.

    Each attempt begins with a different connection, so that the same connection does not use up the
    free space every time.
    """
    for first in core.deferred:
        del core.deferred[first]
        core.deferred[first] = None
        break
    for connection in core.deferred:
        if connection.is_open:
            core.timers.add(due, Timer(TimerKind.DEFERRED, connection, None))
