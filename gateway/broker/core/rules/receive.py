"""Processes received bytes in slices, and handles protocol violations.

A slice is the work that is done for one connection before the event loop handles others
(`work.py`). If a connection has sent more, the remaining packets wait for its next slice.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.records.kinds import CloseReason, Observation
from gateway.broker.core.rules import dispatch
from gateway.broker.core.rules.connect import authenticate, disconnect, refuse, silent
from gateway.broker.core.rules.subscribe import subscribe
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.share import Share
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.violation import Violation
from gateway.broker.core.work import SLICE_UNITS
from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import QUOTA_EXCEEDED, UNSUPPORTED_PROTOCOL_VERSION
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.packets import Packet

# Stored as globals: without the compiled core, two lookups for each packet would cost too much.
AUTHENTICATING: Final = ConnectionState.AUTHENTICATING
CLOSED: Final = ConnectionState.CLOSED

REFUSED_CONNECTIONS_MAX: Final = 64
"""Maximum connections above `max_connections` that are kept until CONNECT can be refused (0x03)."""


def accept(
    core: Core,
    address: str,
    anonymous: bool,
    now: float,
    share: Share | None,
    listener: str,
) -> Connection:
    """Create the connection of a new client and return it.

    The returned connection is already closed if there are too many connections. `anonymous` is True
    if the listener accepts clients without a user. `share` contains the listener's limits.
    """
    decoder = Decoder(
        core.limits.max_packet_size_bytes,
        allows_control_characters=core.limits.allow_control_characters,
    )
    connection = Connection(address, decoder, anonymous, now, share, listener)
    core.statistics.connections_accepted += 1
    core.statistics.connections_open += 1
    if share is not None:
        share.connections_open += 1
        connection.meters = share.meters(now)
    if dispatch.connections_above_limit(core, connection) > REFUSED_CONNECTIONS_MAX and (
        not silent.close_oldest(core, connection, now)
    ):
        core.statistics.count_error("max_connections")
        disconnect.end(core, connection, CloseReason.PROTOCOL_ERROR, now)
    else:
        silent.add(core, connection)
        due = now + core.limits.connect_timeout_seconds
        core.timers.add(due, Timer(TimerKind.CONNECT_TIMEOUT, connection, None))
    return connection


def receive(core: Core, connection: Connection, data: bytes, now: float) -> None:
    """Process the packets that are complete after `data` has been received.

    If earlier packets of the connection are still unprocessed, only store the new packets.
    """
    packets = connection.decoder.feed(data)
    if packets:  # [MQTT-3.1.2-24], [MQTT5-3.1.2-22]: packets count, not bytes
        connection.last_packet = now
    core.statistics.bytes_received += len(data)
    core.statistics.packets_received_total += len(packets)
    if connection.meters:
        for meter in connection.meters:
            meter.spend(len(packets), len(data), now)
    if connection.has_more_work:
        connection.unprocessed.extend(packets)
    else:
        _handle(core, connection, packets, now)
    waits = (
        connection.decoder.partial_bytes() > 0 or connection.state is ConnectionState.AUTHENTICATING
    )
    if (waits or connection in core.incoming.parts) and connection.is_open:
        core.incoming.received(connection, len(data), len(packets) > 0)
        _make_room(core, now)


def _make_room(core: Core, now: float) -> None:
    """Close connections until the incomplete packets of all others fit in the memory limit."""
    while True:
        largest = core.incoming.connection_to_close(core.limits.max_packet_size_bytes)
        if largest is None:
            return
        detail = "the rest of a packet is missing, and there is no room to wait for it"
        end_for(core, largest, Violation("parts_bytes", QUOTA_EXCEEDED, detail), now)


def continue_receiving(core: Core, connection: Connection, now: float) -> None:
    """Process the next slice of a connection's unprocessed packets."""
    connection.has_more_work = False
    if connection.session is not None:
        violation = subscribe.continue_subscribe(core, connection.session, connection, now)
        if violation is not None:
            end_for(core, connection, violation, now)
    if not connection.has_more_work and connection.is_open:
        _handle_undecided(core, connection, now)


def authenticated(
    core: Core, connection: Connection, answer: AuthenticationAnswer, now: float
) -> None:
    """Process the result of an authentication, and then the packets received in the meantime."""
    violation = authenticate.authenticated(core, connection, answer, now)
    if connection.state not in (ConnectionState.AUTHENTICATING, ConnectionState.CLOSED):
        core.incoming.received(connection, 0, completed=True)
    if violation is not None:
        end_for(core, connection, violation, now)
    elif connection.state in (ConnectionState.CONNECTED, ConnectionState.AWAITING_AUTH):
        _handle_undecided(core, connection, now)


def _handle_undecided(core: Core, connection: Connection, now: float) -> None:
    packets = connection.unprocessed
    connection.unprocessed = []
    _handle(core, connection, packets, now)


def _handle(core: Core, connection: Connection, packets: list[Packet], now: float) -> None:
    work = core.state.work
    units = SLICE_UNITS
    for index, packet in enumerate(packets):
        if connection.state is AUTHENTICATING:
            connection.unprocessed.extend(packets[index:])
            return
        if connection.has_more_work or (index and work.spent + index > units):
            connection.has_more_work = True
            connection.unprocessed = packets[index:]
            work.spent += index
            return
        violation = dispatch.receive(core, connection, packet, now)
        if violation is not None:
            end_for(core, connection, violation, now)
        if connection.state is CLOSED:
            return
    work.spent += len(packets)
    malformed = connection.decoder.error
    if malformed is None or connection.has_more_work:
        return
    if connection.state is not AUTHENTICATING:
        if malformed.reason == wrong.UNSUPPORTED_PROTOCOL:
            # [MQTT-3.1.2-2]
            connection.version = 4  # the answer that every client understands since 3.1
            refuse.refuse(core, connection, UNSUPPORTED_PROTOCOL_VERSION, "unsupported_protocol")
        elif connection.state is ConnectionState.CONNECTED:
            reason = Violation(malformed.reason, malformed.reason_code, malformed.detail)
            end_for(core, connection, reason, now)
        else:
            _refuse_malformed(core, connection, malformed, now)


def _refuse_malformed(core: Core, connection: Connection, malformed: Malformed, now: float) -> None:
    """Close a connection because a packet before CONNACK is invalid or too large.

    CONNACK is sent only if the client's protocol version has a code for the reason.
    """
    version = connection.version or malformed.protocol_level
    reason, code = malformed.reason, malformed.reason_code
    # [MQTT-3.1.4-1] before 5.0, an invalid CONNECT is not answered. A CONNECT that is only too
    # large for this server is valid.
    if version == 5 or (version in (3, 4) and reason == wrong.PACKET_TOO_LARGE):
        connection.version = version
        refuse.refuse(core, connection, code, reason, malformed.detail, sends_reason=True)
    else:
        end_for(core, connection, Violation(reason, code, malformed.detail), now)


def end_for(core: Core, connection: Connection, violation: Violation, now: float) -> None:
    """Close a connection because its client has violated the protocol or a limit.

    Closing is required by [MQTT-4.8.0-1] and [MQTT5-4.13.1-1]. The client's will is published,
    because the client has not sent DISCONNECT.
    """
    if not connection.is_open:
        return
    core.statistics.count_error(violation.reason)
    session = connection.session
    name = connection.address
    if session is not None:
        name = f"client {session.client_id!r} from {name}"
        core.recorder.observed(
            session, Observation.PROTOCOL_ERROR, violation.reason, violation.detail
        )
    core.statistics.note(f"{name} disconnected: {violation.reason}: {violation.detail}")
    disconnect.end(core, connection, CloseReason.PROTOCOL_ERROR, now, violation)
