"""Checks that apply to every PUBLISH from a client, at any QoS.

The functions resolve topic aliases, check limits and permissions, create the message, and decide
whether the message must be recorded. The text of a violation states what was expected.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.permissions import PUBLISH_REFUSED
from gateway.broker.core.records.kinds import Origin
from gateway.broker.core.rules.deliver import retained_limits
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.topics.route import Route
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import (
    NOT_AUTHORIZED,
    PAYLOAD_FORMAT_INVALID,
    PROTOCOL_ERROR,
    QOS_NOT_SUPPORTED,
    QUOTA_EXCEEDED,
    RECEIVE_MAXIMUM_EXCEEDED,
    RETAIN_NOT_SUPPORTED,
    TOPIC_ALIAS_INVALID,
    TOPIC_NAME_INVALID,
)
from gateway.broker.wire.message_properties import forwarded_of
from gateway.broker.wire.packets import Publish


def violation_of(core: Core, connection: Connection, packet: Publish) -> Violation | None:
    """Return the violation in a PUBLISH for which the connection must be closed, or None.

    If the PUBLISH has a topic alias, the alias is replaced with its topic. To save time, `dispatch`
    calls this function only for packets that can fail one of the checks. If you add a check, extend
    the condition in `dispatch` as well.
    """
    if packet.properties is not None and packet.properties.topic_alias is not None:
        violation = _resolve_alias(core, connection, packet)
        if violation is not None:
            return violation
    limits = core.limits
    if packet.qos > limits.maximum_qos:
        # [MQTT5-3.2.2-11] CONNACK stated the maximum
        return Violation(
            "maximum_qos",
            QOS_NOT_SUPPORTED,
            f"PUBLISH of QoS {packet.qos}, expected at most maximum_qos = {limits.maximum_qos}",
        )
    if packet.retain and not limits.retain_available:
        # [MQTT5-3.2.2-14] CONNACK stated that it is not available
        return Violation(
            "retain_available", RETAIN_NOT_SUPPORTED, "PUBLISH with RETAIN, expected none"
        )
    levels_max = limits.max_topic_levels
    if len(packet.topic) >= levels_max and packet.topic.count("/") >= levels_max:
        return Violation(
            "max_topic_levels",
            TOPIC_NAME_INVALID,
            f"more than max_topic_levels = {levels_max} topic levels",
        )
    return None


def _resolve_alias(core: Core, connection: Connection, packet: Publish) -> Violation | None:
    """Replace a topic alias with its topic, or store a new alias (section 3.3.2.3.4).

    Return a violation if the alias is invalid or cannot be stored, otherwise None.
    """
    assert packet.properties is not None, "a topic alias is a property"
    alias = packet.properties.topic_alias
    if alias is None or alias > core.limits.max_topic_alias:
        # [MQTT5-3.3.2-9]
        detail = f"topic alias {alias}, expected at most {core.limits.max_topic_alias}"
        return Violation("topic_alias", TOPIC_ALIAS_INVALID, detail)
    if packet.topic:
        return core.incoming.alias(connection, alias, packet.topic, packet.topic_field)
    known = connection.aliases_in.get(alias)
    if known is None:
        detail = f"topic alias {alias} stands for no topic on this connection"
        return Violation("topic_alias", PROTOCOL_ERROR, detail)
    packet.topic, packet.topic_field = known
    return None


def quota_violation_of(connection: Connection) -> Violation | None:
    """Return a violation if another PUBLISH would exceed the receive maximum set in CONNACK.

    Otherwise return None. The receive maximum applies only to MQTT 5.0 clients [MQTT5-3.3.4-7].
    """
    if connection.version < 5 or connection.receiving < connection.receive_maximum_granted:
        return None
    return Violation(
        "receive_maximum",
        RECEIVE_MAXIMUM_EXCEEDED,
        f"more than {connection.receive_maximum_granted} QoS 1 and 2 messages at a time, the "
        "receive maximum in CONNACK",
    )


def refusal_of(core: Core, connection: Connection, packet: Publish, is_system: bool) -> int:
    """Return the reason code for refusing a message, or 0 if the message is accepted.

    A client with an older version than MQTT 5.0 cannot be informed of a refusal, so its message is
    acknowledged and dropped. `is_system` is True for `$SYS` topics.
    """
    if is_system:
        # [MQTT-4.7.2-1] $SYS is what the broker publishes, not a place to exchange messages
        core.statistics.count_error("system_topic")
        core.statistics.publishes_refused += 1
        return NOT_AUTHORIZED
    session = connection.session
    if (
        core.permissions.restricted
        and session is not None
        and core.permissions.refuses_publish(session, packet.topic, packet.qos, packet.retain)
    ):
        core.statistics.publishes_refused += 1
        core.statistics.deny(PUBLISH_REFUSED, session, packet.topic)
        return NOT_AUTHORIZED
    if len(packet.payload) > core.limits.message_size_limit_bytes:
        core.statistics.count_error("message_size_limit")
        core.statistics.publishes_refused += 1
        return QUOTA_EXCEEDED
    if connection.version != 5:
        return 0
    properties = packet.properties
    if (
        core.limits.check_payload_format
        and properties is not None
        and properties.payload_format_indicator == 1
        and not _is_utf8(packet.payload)
    ):
        core.statistics.count_error("payload_format")
        core.statistics.publishes_refused += 1
        return PAYLOAD_FORMAT_INVALID
    if packet.retain and packet.qos and packet.payload:
        # A QoS 0 message has no acknowledgement that could report the limit, so it is delivered to
        # its subscribers.
        limit = retained_limit_of(core, connection, packet)
        if limit:
            core.statistics.count_error(limit)
            core.statistics.publishes_refused += 1
            return QUOTA_EXCEEDED
    return 0


def retained_limit_of(core: Core, connection: Connection, packet: Publish) -> str:
    """Return the name of the limit that retaining this message would exceed, or ""."""
    session = connection.session
    owner = None if session is None else session.owner
    return retained_limits.retained_limit_reached(
        core.state, core.limits, owner, packet.topic, size_bytes_of(packet)
    )


def message_of(core: Core, packet: Publish) -> Message:
    """Create a message from a PUBLISH packet, and assign the next message number to it."""
    number = core.state.next_message_number
    core.state.next_message_number = number + 1
    message = Message(
        number,
        packet.topic,
        packet.topic_field,
        packet.payload,
        packet.qos,
        packet.retain,
    )
    properties = packet.properties
    if properties is not None:
        message.forwarded = forwarded_of(properties)
        if properties.message_expiry_interval_seconds is not None:
            interval_ms = properties.message_expiry_interval_seconds * 1000
            message.expires_ms = core.state.time.time_ms + interval_ms
    return message


def must_record(core: Core, session: Session, message: Message, route: Route) -> bool:
    """Return True if a message must be recorded in the journal when it is distributed.

    The result does not depend on whether the message has already been recorded. For example, a QoS
    2 message of a persistent session is recorded when its PUBLISH arrives.
    """
    if route.logged or message.retain:
        return True
    if message.qos and (route.durable or session.persistent):
        return True
    # A message may have to be queued even for a subscription with QoS 0.
    return route.persistent and core.limits.mqueue_store_qos0


def record(core: Core, session: Session, message: Message, route: Route) -> None:
    """Record in the journal that a message is published, including the message itself."""
    if message.retain:
        message.owner = session.owner
    core.recorder.message_published(session, message, Origin.CLIENT, route.matched())
    if message.qos:
        message.batch = core.recorder.batch_number


def record_again(core: Core, session: Session, message: Message) -> Message:
    """Record a message that is passed on from a clean session. Return the recorded message.

    If the message was recorded before, that record may have been deleted from disk, because all
    persistent receivers have acknowledged the message. Therefore, a copy of such a message with a
    new number is recorded and returned.
    """
    again = message
    if message.batch >= 0:
        expires_ms = message.expires_ms
        if expires_ms:
            # A newer number would not count the outages that this one did.
            state = core.state
            remaining_ms = state.time.remaining_ms(message.number, expires_ms)
            expires_ms = max(1, state.time.time_ms + remaining_ms)
        again = Message(
            core.state.next_message_number,
            message.topic,
            message.topic_field,
            message.payload,
            message.qos,
            message.retain,
            message.forwarded,
            expires_ms,
        )
        core.state.next_message_number += 1
    core.recorder.message_published(session, again, Origin.GATEWAY, 1)
    return again


def size_bytes_of(packet: Publish) -> int:
    """Return the size that the message in a PUBLISH will have in a queue, in bytes."""
    size_bytes = len(packet.topic_field) + len(packet.payload)
    if packet.properties is not None:
        size_bytes += len(forwarded_of(packet.properties))
    return size_bytes


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
