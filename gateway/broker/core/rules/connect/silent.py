"""Silent connections, which have not sent CONNECT. They may be closed to make room for others.

Anyone can open connections, so silent connections must not prevent other clients from connecting.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.sessions.connection import Connection

SILENT_CONNECTION: Final = "silent_connection"
"""Name of the counter of silent connections that were closed, in `errors` of the status."""

SILENT_SECONDS: Final = 1.0
"""Age at which a silent connection may be closed to make room: a client on a slow line has sent its
CONNECT by then, or connects again."""

SILENT_MAX: Final = 128
"""Maximum silent connections before the oldest may be closed at any age. Otherwise, a flood would
keep out all others for SILENT_SECONDS again and again. An iteration of the event loop accepts 100
connections, and reads their CONNECTs first."""

EXAMINED_MAX: Final = 64
"""Maximum silent connections examined to find one of the same listener, for each connection above
the listener's own limit."""


def add(core: Core, connection: Connection) -> None:
    """Add a new connection to the list of silent connections."""
    core.silent[connection] = None


def remove(core: Core, connection: Connection) -> None:
    """Remove a connection from the list of silent connections, because a packet has arrived."""
    core.silent.pop(connection, None)


def close_oldest(
    core: Core, newcomer: Connection | None, now: float, *, to_connect: bool = False
) -> bool:
    """Close the oldest silent connection to make room for another connection.

    Return True if a connection was closed, or False if none may be closed. If only the limit of the
    newcomer's listener is exceeded, only connections of this listener may be closed.

    Args:
        newcomer: the connection that needs room, or None if it has not been accepted yet.
        now: the monotonic time in seconds.
        to_connect: True if the newcomer has sent CONNECT. A silent connection may then be closed at
            any age.
    """
    is_of_listener = (
        newcomer is not None
        and newcomer.share is not None
        and core.statistics.connections_open <= core.limits.max_connections
    )
    any_age = to_connect or len(core.silent) > SILENT_MAX
    for connection, _ in zip(core.silent, range(EXAMINED_MAX), strict=False):
        if not any_age and connection.last_packet > now - SILENT_SECONDS:
            return False
        if connection is newcomer:
            continue
        if newcomer is not None and is_of_listener and connection.share is not newcomer.share:
            continue
        core.statistics.count_error(SILENT_CONNECTION)
        disconnect.end(core, connection, CloseReason.SLOW, now)
        return True
    return False
