"""Validation of CONNECT (section 3.1), in the order of section 3.1.4.

The modules `refuse`, `authenticate` and `admit` process the result.
"""

from gateway.broker.core.bans import BANNED_REASON
from gateway.broker.core.core import Core
from gateway.broker.core.limits import CLIENT_ID_BYTES_MAX, WILL_BYTES_FREE, WILLS_BYTES_MAX
from gateway.broker.core.rules.admit import ClientAcceptance
from gateway.broker.core.rules.authenticate import AuthenticationRules
from gateway.broker.core.rules.refuse import Refusal
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


class ConnectChecks:
    """Validates CONNECT packets."""

    def __init__(
        self,
        core: Core,
        refusing: Refusal,
        authenticating: AuthenticationRules,
        admitting: ClientAcceptance,
    ) -> None:
        self.core = core
        self.state = core.state
        self.limits = core.limits
        self.bans = core.bans
        self.refusing = refusing
        self.authenticating = authenticating
        self.admitting = admitting

    def receive_connect(
        self, connection: Connection, packet: Connect, now: float
    ) -> Violation | None:
        """Check a CONNECT in the order of section 3.1.4, then accept or authenticate the client."""
        self.take_terms(connection, packet)
        if packet.protocol_level not in self.limits.protocol_versions:
            self.refusing.refuse(connection, UNSUPPORTED_PROTOCOL_VERSION, "protocol_versions")
            return None
        if self.bans.is_banned(packet.client_id, connection.proven_user or packet.username):
            self.refusing.refuse(connection, BANNED, BANNED_REASON)
            return None
        if not packet.client_id and (
            not self.limits.allow_zero_length_clientid
            or packet.protocol_level == 3
            or (packet.protocol_level == 4 and not packet.clean_start)
        ):
            # [MQTT-3.1.3-8]; MQTT 3.1 does not allow empty client identifiers
            self.refusing.refuse(connection, CLIENT_IDENTIFIER_NOT_VALID, "client_id_empty")
            return None
        if len(packet.client_id) * 4 > CLIENT_ID_BYTES_MAX and (
            len(packet.client_id.encode()) > CLIENT_ID_BYTES_MAX
        ):
            self.refusing.refuse(connection, CLIENT_IDENTIFIER_NOT_VALID, "client_id_too_long")
            return None
        refusal = self._refusal_of_names(packet)
        if refusal:
            self.refusing.refuse(connection, refusal, "control_character")
            return None
        if packet.will is not None:
            code, reason = self._refusal_of_will(packet.will)
            if code:
                self.refusing.refuse(connection, code, reason)
                return None
        return self._authenticate(connection, packet, now)

    def _authenticate(
        self, connection: Connection, packet: Connect, now: float
    ) -> Violation | None:
        if connection.authentication_method is not None:
            self.authenticating.begin_enhanced(connection, packet, packet.properties)
        elif connection.proven_user is not None:
            # Regardless of the packet, like Mosquitto with use_identity_as_username.
            connection.username = connection.proven_user
            return self.admitting.admit(connection, packet, None, now)
        elif packet.username is None:
            if connection.anonymous:
                return self.admitting.admit(connection, packet, None, now)
            if self.core.authenticates and packet.password is not None:
                # 5.0 section 3.1.2.9: a token may be sent without a user name.
                self.authenticating.check_password(connection, packet, "", now)
                return None
            self.refusing.refuse(connection, NOT_AUTHORIZED, "not_authorized")
        elif self.core.authenticates or not connection.anonymous:
            self.authenticating.check_password(connection, packet, packet.username, now)
        else:
            return self.admitting.admit(connection, packet, None, now)
        return None

    def _refusal_of_names(self, packet: Connect) -> int:
        """Return the reason code for a control character in a name, or 0.

        Existing sessions with such names, from when they were allowed, may continue.
        """
        if self.limits.allow_control_characters:
            return 0
        if packet.will is not None and has_control_character(packet.will.topic):
            return TOPIC_NAME_INVALID
        if packet.client_id in self.state.sessions:
            return 0
        if has_control_character(packet.client_id):
            return CLIENT_IDENTIFIER_NOT_VALID
        if packet.username is not None and has_control_character(packet.username):
            return BAD_USER_NAME_OR_PASSWORD
        return 0

    def _refusal_of_will(self, will: WillOfConnect) -> tuple[int, str]:
        """Return the reason code for a refused will, and the name of its limit; 0 if it is
        accepted.
        """
        limits = self.limits
        if will.topic.count("/") >= limits.max_topic_levels:
            return TOPIC_NAME_INVALID, "max_topic_levels"
        if will.qos > limits.maximum_qos:
            return QOS_NOT_SUPPORTED, "maximum_qos"  # [MQTT5-3.2.2-12]
        if will.retain and not limits.retain_available:
            return RETAIN_NOT_SUPPORTED, "retain_available"  # [MQTT5-3.2.2-13]
        if len(will.payload) > limits.message_size_limit_bytes:
            return QUOTA_EXCEEDED, "message_size_limit"
        if not self._has_room_for(will):
            return QUOTA_EXCEEDED, "wills_bytes"
        if is_system_topic(will.topic):
            return NOT_AUTHORIZED, "system_topic"
        return 0, ""

    def _has_room_for(self, will: WillOfConnect) -> bool:
        size_bytes = 4 * len(will.topic) + len(will.payload)
        return size_bytes <= WILL_BYTES_FREE or (
            self.state.wills_bytes + size_bytes <= WILLS_BYTES_MAX
        )

    def take_terms(self, connection: Connection, packet: Connect) -> None:
        """Store the client's protocol level and properties, which determine how it is refused."""
        connection.version = packet.protocol_level
        connection.username = packet.username
        if packet.properties is not None:
            self._take_properties(connection, packet.properties)

    def _take_properties(self, connection: Connection, properties: Properties) -> None:
        if properties.receive_maximum is not None:
            connection.receive_maximum = properties.receive_maximum
        if properties.maximum_packet_size_bytes is not None:
            connection.maximum_packet_size_bytes = properties.maximum_packet_size_bytes
        if properties.topic_alias_maximum is not None:
            connection.topic_alias_maximum = min(
                properties.topic_alias_maximum, self.limits.max_topic_alias
            )
        if properties.request_problem_information is False:
            connection.wants_problem_information = False
        if properties.session_expiry_interval_seconds is not None:
            connection.session_expiry_seconds = properties.session_expiry_interval_seconds
        connection.authentication_method = properties.authentication_method
