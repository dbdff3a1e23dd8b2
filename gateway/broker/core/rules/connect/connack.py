"""The CONNACK for an accepted client, including the limits that the broker sets (section 3.2)."""

from gateway.broker.core.core import Core
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connack, Connect, Properties


def connack_of(
    core: Core,
    session: Session,
    connection: Connection,
    packet: Connect,
    present: bool,
    data: bytes | None,
) -> bytes:
    """Return the encoded CONNACK of an accepted client.

    `present` is the session present flag. `data` is authentication data for the client, or None.
    """
    if connection.version < 5:
        # [MQTT-3.2.2-2], [MQTT-3.2.2-3]; MQTT 3.1 has no such flag
        return encode(Connack(present and connection.version > 3, 0), connection.version)
    properties = Properties()
    requested = 0
    if packet.properties is not None:
        requested = packet.properties.session_expiry_interval_seconds or 0
    if session.expiry_seconds != requested:
        properties.session_expiry_interval_seconds = session.expiry_seconds
    connection.receive_maximum_granted = core.limits.max_awaiting_rel
    if core.limits.max_awaiting_rel < 65_535:
        properties.receive_maximum = core.limits.max_awaiting_rel
    if core.limits.maximum_qos < 2:
        properties.maximum_qos = core.limits.maximum_qos  # [MQTT5-3.2.2-9]
    if not core.limits.retain_available:
        properties.retain_available = False
    properties.maximum_packet_size_bytes = core.limits.max_packet_size_bytes
    if core.limits.max_topic_alias:
        properties.topic_alias_maximum = core.limits.max_topic_alias
    if not packet.client_id:
        properties.assigned_client_identifier = session.client_id  # [MQTT5-3.2.2-16]
    if connection.keep_alive_seconds != packet.keep_alive_seconds:
        properties.server_keep_alive_seconds = connection.keep_alive_seconds
    properties.authentication_method = connection.authentication_method
    properties.authentication_data = data
    return encode(Connack(present, 0, properties), 5)
