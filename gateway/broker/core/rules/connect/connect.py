"""Validation of CONNECT packets (section 3.1), in the order of section 3.1.4.

After validation, the modules `refuse`, `authenticate` and `admit` process the packet.
"""

from gateway.broker.core.bans import BANNED_REASON
from gateway.broker.core.core import Core
from gateway.broker.core.limits import CLIENT_ID_BYTES_MAX, WILL_BYTES_FREE, WILLS_BYTES_MAX
from gateway.broker.core.rules.connect import admit, authenticate, refuse
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.topics.route import is_system_topic
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import (
    BAD_USER_NAME_OR_PASSWORD,
    BANNED,
    CLIENT_IDENTIFIER_NOT_VALID,
    NOT_AUTHORIZED,
    QOS_NOT_SUPPORTED,
    QUOTA_EXCEEDED,
    RETAIN_NOT_SUPPORTED,
    TOPIC_NAME_INVALID,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from gateway.broker.wire.packets import Connect, Properties
from gateway.broker.wire.packets import Will as WillOfConnect
from gateway.broker.wire.topics import has_control_character


def receive_connect(
    core: Core, connection: Connection, packet: Connect, now: float
) -> Violation | None:
    """Check a CONNECT in the order of section 3.1.4, then accept or authenticate the client."""
    set_terms(core, connection, packet)
    if packet.protocol_level not in core.limits.protocol_versions:
        refuse.refuse(core, connection, UNSUPPORTED_PROTOCOL_VERSION, "protocol_versions")
        return None
    if core.bans.is_banned(packet.client_id, connection.proven_user or packet.username):
        refuse.refuse(core, connection, BANNED, BANNED_REASON)
        return None
    if not packet.client_id and (
        not core.limits.allow_zero_length_clientid
        or packet.protocol_level == 3
        or (packet.protocol_level == 4 and not packet.clean_start)
    ):
        # [MQTT-3.1.3-8]; MQTT 3.1 does not allow empty client identifiers
        refuse.refuse(core, connection, CLIENT_IDENTIFIER_NOT_VALID, "client_id_empty")
        return None
    if len(packet.client_id) * 4 > CLIENT_ID_BYTES_MAX and (
        len(packet.client_id.encode()) > CLIENT_ID_BYTES_MAX
    ):
        refuse.refuse(core, connection, CLIENT_IDENTIFIER_NOT_VALID, "client_id_too_long")
        return None
    refusal = _refusal_of_names(core, packet)
    if refusal:
        refuse.refuse(core, connection, refusal, "control_character")
        return None
    if packet.will is not None and is_system_topic(packet.will.topic):
        # Bridges of Mosquitto have such a will by default, and must be able to connect.
        core.statistics.count_error("system_topic")
        packet.will = None
    if packet.will is not None:
        code, reason = _refusal_of_will(core, packet.will)
        if code:
            refuse.refuse(core, connection, code, reason)
            return None
    return _authenticate(core, connection, packet, now)


def _authenticate(
    core: Core, connection: Connection, packet: Connect, now: float
) -> Violation | None:
    if connection.authentication_method is not None:
        authenticate.begin_enhanced(core, connection, packet, packet.properties)
    elif connection.proven_user is not None:
        # Regardless of the packet, like Mosquitto with use_identity_as_username.
        connection.username = connection.proven_user
        return admit.admit(core, connection, packet, None, now)
    elif packet.username is None:
        if connection.anonymous:
            return admit.admit(core, connection, packet, None, now)
        if core.authenticates and packet.password is not None:
            # 5.0 section 3.1.2.9: a token may be sent without a user name.
            authenticate.check_password(core, connection, packet, "", now)
            return None
        refuse.refuse(core, connection, NOT_AUTHORIZED, "not_authorized")
    elif core.authenticates or not connection.anonymous:
        authenticate.check_password(core, connection, packet, packet.username, now)
    else:
        return admit.admit(core, connection, packet, None, now)
    return None


def _refusal_of_names(core: Core, packet: Connect) -> int:
    """Return the reason code for refusing a client whose names contain control characters.

    The checked names are the will's topic, the client identifier and the user name. If the client's
    session already exists, only the will's topic is checked. Return 0 if the names are valid.
    """
    if core.limits.allow_control_characters:
        return 0
    if packet.will is not None and has_control_character(packet.will.topic):
        return TOPIC_NAME_INVALID
    if packet.client_id in core.state.sessions:
        return 0
    if has_control_character(packet.client_id):
        return CLIENT_IDENTIFIER_NOT_VALID
    if packet.username is not None and has_control_character(packet.username):
        return BAD_USER_NAME_OR_PASSWORD
    return 0


def _refusal_of_will(core: Core, will: WillOfConnect) -> tuple[int, str]:
    """Return the reason code for refusing a will, and the name of the reason.

    If the will is accepted, the code is 0 and the name is empty.
    """
    limits = core.limits
    if will.topic.count("/") >= limits.max_topic_levels:
        return TOPIC_NAME_INVALID, "max_topic_levels"
    if will.qos > limits.maximum_qos:
        return QOS_NOT_SUPPORTED, "maximum_qos"  # [MQTT5-3.2.2-12]
    if will.retain and not limits.retain_available:
        return RETAIN_NOT_SUPPORTED, "retain_available"  # [MQTT5-3.2.2-13]
    if len(will.payload) > limits.message_size_limit_bytes:
        return QUOTA_EXCEEDED, "message_size_limit"
    if not _has_room_for(core, will):
        return QUOTA_EXCEEDED, "wills_bytes"
    return 0, ""


def _has_room_for(core: Core, will: WillOfConnect) -> bool:
    size_bytes = 4 * len(will.topic) + len(will.payload)
    return size_bytes <= WILL_BYTES_FREE or (core.state.wills_bytes + size_bytes <= WILLS_BYTES_MAX)


def set_terms(core: Core, connection: Connection, packet: Connect) -> None:
    """Store a client's protocol level and properties, which determine how a refusal is encoded."""
    connection.version = packet.protocol_level
    connection.username = packet.username
    if packet.properties is not None:
        _set_properties(core, connection, packet.properties)


def _set_properties(core: Core, connection: Connection, properties: Properties) -> None:
    if properties.receive_maximum is not None:
        connection.receive_maximum = properties.receive_maximum
    if properties.maximum_packet_size_bytes is not None:
        connection.maximum_packet_size_bytes = properties.maximum_packet_size_bytes
    if properties.topic_alias_maximum is not None:
        connection.topic_alias_maximum = min(
            properties.topic_alias_maximum, core.limits.max_topic_alias
        )
    if properties.request_problem_information is False:
        connection.wants_problem_information = False
    if properties.session_expiry_interval_seconds is not None:
        connection.session_expiry_seconds = properties.session_expiry_interval_seconds
    connection.authentication_method = properties.authentication_method
