"""Refuses clients with an error code in CONNACK (section 3.2.2.3; MQTT 5.0 3.2.2.2)."""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.wire.codes import (
    BAD_USER_NAME_OR_PASSWORD,
    CLIENT_IDENTIFIER_NOT_VALID,
    CONNECTION_RATE_EXCEEDED,
    NOT_AUTHORIZED,
    PACKET_TOO_LARGE,
    QUOTA_EXCEEDED,
    SERVER_BUSY,
    SERVER_UNAVAILABLE,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connack, Properties

RETURN_CODES: Final = {
    UNSUPPORTED_PROTOCOL_VERSION: 1,
    CLIENT_IDENTIFIER_NOT_VALID: 2,
    SERVER_UNAVAILABLE: 3,
    SERVER_BUSY: 3,
    QUOTA_EXCEEDED: 3,
    CONNECTION_RATE_EXCEEDED: 3,
    BAD_USER_NAME_OR_PASSWORD: 4,
    NOT_AUTHORIZED: 5,
    PACKET_TOO_LARGE: 3,
}
"""CONNACK return codes of MQTT 3.1.1 (section 3.2.2.3), by MQTT 5.0 reason code."""

REASON_CHARACTERS_MAX: Final = 500
"""Maximum characters of a reason string, so that it fits into a line of a log."""


def refuse(
    core: Core,
    connection: Connection,
    reason_code: int,
    reason: str,
    detail: str = "",
    *,
    sends_reason: bool = False,
) -> None:
    """Send CONNACK with an error code, and close the connection [MQTT-3.2.2-5], [MQTT5-3.2.2-7].

    `reason` is the name of the error counter, and is logged together with `detail`. If the keyword
    argument `sends_reason` is True, `detail` is also sent to MQTT 5.0 clients as the reason string.
    """
    core.statistics.count_error(reason)
    why = f"{reason}: {detail}" if detail else reason
    core.statistics.note(f"connection from {connection.address} refused: {why}")
    core.statistics.connections_refused += 1
    version = connection.version if connection.version in (3, 4, 5) else 4
    code = reason_code if version == 5 else RETURN_CODES.get(reason_code, 5)
    # [MQTT-3.2.2-4], [MQTT5-3.2.2-6] session present is 0 in every refusal
    properties = None
    if sends_reason and version == 5:
        properties = Properties()
        properties.reason_string = detail[:REASON_CHARACTERS_MAX]
    connack = encode(Connack(False, code, properties), version)
    if connection.accepts(connack):
        # [MQTT5-3.1.2-24] a CONNACK that is too large for the client is not sent
        core.output.push(connection, connack)
    core.output.close(connection)
    disconnect.forget(core, connection)
