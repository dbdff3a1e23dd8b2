"""Keep-alive of a connected client: how long the client may stay silent (section 3.1.2.10)."""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.limits import KEEP_ALIVE_PART_BYTES
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.timers import Timer

KEEP_ALIVE_FACTOR: Final = 1.5
"""Keep-alive times without a packet after which a connection is closed [MQTT-3.1.2-24]."""


def check(core: Core, connection: Connection, timer: Timer, now: float) -> bool:
    """Return True and schedule the next check if a client is alive, otherwise return False.

    A client is alive if it has sent a packet, or enough bytes of one, within 1.5 times its
    keep-alive interval. It also counts as alive while the broker does not read from it.
    """
    silence_seconds = connection.keep_alive_seconds * KEEP_ALIVE_FACTOR
    due = connection.last_packet + silence_seconds
    if not connection.reading:
        due = now + silence_seconds
    if due <= now:
        since, seen_bytes = connection.part_seen
        part_bytes = connection.decoder.partial_bytes()
        new_bytes = part_bytes - seen_bytes if since == connection.last_packet else part_bytes
        if new_bytes < KEEP_ALIVE_PART_BYTES:
            return False
        connection.part_seen = (connection.last_packet, part_bytes)
        due = now + silence_seconds
    core.timers.add(due, timer)
    return True
