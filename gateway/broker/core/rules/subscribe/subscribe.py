"""SUBSCRIBE and UNSUBSCRIBE (sections 3.8 to 3.11), and retained messages for new subscriptions."""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.limits import WILDCARD_PATTERNS_MAX
from gateway.broker.core.permissions import SUBSCRIBE_REFUSED
from gateway.broker.core.records.kinds import Observation
from gateway.broker.core.rules.publish.full_disk import DISK_FULL
from gateway.broker.core.rules.subscribe import retained, system_topics
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.subscribe_request import PendingSubscribe
from gateway.broker.core.topics.route import is_system_topic
from gateway.broker.core.violation import Violation, too_large
from gateway.broker.core.work import DELIVERY_UNITS, FILTER_UNITS, SLICE_UNITS
from gateway.broker.wire.codes import (
    NO_SUBSCRIPTION_EXISTED,
    NOT_AUTHORIZED,
    QUOTA_EXCEEDED,
    TOPIC_FILTER_INVALID,
    UNSPECIFIED_ERROR,
)
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Suback, Subscribe, Unsuback, Unsubscribe
from gateway.broker.wire.packets import Subscription as WantedSubscription
from gateway.broker.wire.topics import has_control_character

AT_SUBSCRIBE: Final = 0
IF_NEW: Final = 1
"""Values of retain handling (5.0 section 3.8.3.1). The third value, 2, means never."""


def receive_subscribe(
    core: Core, session: Session, connection: Connection, packet: Subscribe, now: float
) -> Violation | None:
    """Add or replace subscriptions, send SUBACK, and then send retained messages [MQTT-3.8.4-4]."""
    for requested in packet.subscriptions:
        # [MQTT5-3.2.2-10] a QoS above the maximum is not an error: the maximum is granted
        requested.qos = min(requested.qos, core.limits.maximum_qos)
    core.pending_subscribes[connection] = PendingSubscribe(packet)
    return continue_subscribe(core, session, connection, now)


def continue_subscribe(
    core: Core, session: Session, connection: Connection, now: float
) -> Violation | None:
    """Process the next slice (about a millisecond) of a connection's pending SUBSCRIBE, if any.

    Retained messages for a persistent session are queued in the same batch as the SUBACK, or in an
    earlier batch. If there are too many for one slice, some are sent before the SUBACK. Section
    3.8.4 permits this.
    """
    pending = core.pending_subscribes.get(connection)
    if pending is None:
        return None
    if not (
        _subscribe(core, session, pending) and retained.find(core, session, connection, pending)
    ):
        connection.has_more_work = True
        return None
    if len(pending.found) * DELIVERY_UNITS <= SLICE_UNITS:
        violation = _answer_subscribe(core, session, connection, pending)
        if violation is not None:
            return violation
    if not retained.deliver_found(core, session, pending, now):
        connection.has_more_work = True
        return None
    del core.pending_subscribes[connection]
    if not pending.answered:
        violation = _answer_subscribe(core, session, connection, pending)
        if violation is not None:
            return violation
    for subscription in pending.wants_retained:
        if is_system_topic(subscription.topic_filter):
            system_topics.request(core, session, subscription)
        retained.add(core, connection, subscription)
    retained.pump(core, connection, now)
    return None


def _subscribe(core: Core, session: Session, pending: PendingSubscribe) -> bool:
    """Add or replace the subscriptions of a SUBSCRIBE.

    Return True if all of them have been processed, or False if another slice is needed.
    """
    work = core.state.work
    while pending.filters_done < len(pending.filters):
        if work.spent > SLICE_UNITS and pending.filters_done:
            return False
        topic_filter = pending.filters[pending.filters_done]
        pending.filters_done += 1
        work.spent += FILTER_UNITS + len(topic_filter) // 8
        refusal = _refusal_of(core, session, pending.last[topic_filter])
        if refusal:
            _refuse(core, session, topic_filter, refusal)
            pending.refused[topic_filter] = refusal
        else:
            _add_subscription(core, session, pending, pending.last[topic_filter])
    return True


def _refuse(core: Core, session: Session, topic_filter: str, refusal: str) -> None:
    if refusal == SUBSCRIBE_REFUSED:
        core.statistics.deny(refusal, session, topic_filter)
        return
    core.statistics.count_error(refusal)
    core.statistics.note(f"client {session.client_id!r}: subscription refused: {refusal} reached")
    if refusal != DISK_FULL:
        core.recorder.observed(session, Observation.LIMIT_HIT, refusal, topic_filter[:200])


def _add_subscription(
    core: Core, session: Session, pending: PendingSubscribe, requested: WantedSubscription
) -> None:
    subscription = Subscription(requested.topic_filter, options_of(requested), pending.identifier)
    is_new = requested.topic_filter not in session.subscriptions
    if session.persistent:
        core.recorder.subscribed(session, subscription)
    else:
        core.state.subscribed(session, subscription)
    core.statistics.subscribed(session, subscription)
    handling = subscription.retain_handling
    if (core.limits.retain_available and not subscription.is_shared) and (
        handling == AT_SUBSCRIBE or (handling == IF_NEW and is_new)
    ):
        # [MQTT5-3.3.1-9], [MQTT5-3.3.1-10], [MQTT5-3.3.1-11]
        pending.wants_retained.append(subscription)


def _answer_subscribe(
    core: Core, session: Session, connection: Connection, pending: PendingSubscribe
) -> Violation | None:
    pending.answered = True
    codes: list[int] = []
    for requested in pending.requested:
        refusal = pending.refused.get(requested.topic_filter, "")
        # [MQTT-3.9.3-1] one code for each filter, in order
        codes.append(_code_of(refusal, connection.version) if refusal else requested.qos)
    suback = encode(Suback(pending.packet_id, codes), connection.version)
    return _answer(core, session, connection, suback, "SUBACK")


def _refusal_of(core: Core, session: Session, requested: WantedSubscription) -> str:
    topic_filter = requested.topic_filter
    if core.permissions.restricted and core.permissions.refuses_subscribe(
        session, topic_filter, requested.qos
    ):
        return SUBSCRIBE_REFUSED
    if topic_filter in session.subscriptions:
        return ""  # the limits may have been lowered since it was added
    if not core.limits.allow_control_characters and has_control_character(topic_filter):
        return "control_character"
    if topic_filter.count("/") >= core.limits.max_topic_levels:
        return "max_topic_levels"
    if len(session.subscriptions) >= core.limits.max_subscriptions:
        return "max_subscriptions"
    owner = session.owner
    if owner is not None:
        if owner.subscriptions >= owner.quota.subscriptions:
            return owner.name_of("subscriptions")
        if owner.subscription_bytes > owner.quota.subscription_bytes:
            return owner.name_of("subscription_bytes")
    tree = core.state.tree
    missing = tree.missing_for(topic_filter)
    if tree.subscription_bytes() + missing.size_bytes > core.limits.max_subscription_bytes:
        return "max_subscription_bytes"
    if missing.wildcard_patterns and (
        tree.filters.wildcard_patterns + missing.wildcard_patterns > WILDCARD_PATTERNS_MAX
    ):
        return "wild_patterns"
    if core.limits.disk_full and session.persistent:
        return DISK_FULL
    return ""


def receive_unsubscribe(
    core: Core, session: Session, connection: Connection, packet: Unsubscribe
) -> Violation | None:
    """Remove subscriptions, and send UNSUBACK even if none of them existed [MQTT-3.10.4-5]."""
    codes: list[int] = []
    for topic_filter in packet.topic_filters:
        existed = topic_filter in session.subscriptions
        codes.append(0 if existed else NO_SUBSCRIPTION_EXISTED)
        if existed:
            core.state.work.spent += FILTER_UNITS
            if session.persistent:
                core.recorder.unsubscribed(session, topic_filter)
            else:
                core.state.unsubscribed(session, topic_filter)
            core.statistics.unsubscribed(session, topic_filter)
    unsuback = encode(Unsuback(packet.packet_id, codes), connection.version)
    return _answer(core, session, connection, unsuback, "UNSUBACK")


def _answer(
    core: Core, session: Session, connection: Connection, data: bytes, name: str
) -> Violation | None:
    if not connection.accepts(data):
        return too_large(name, len(data), connection.maximum_packet_size_bytes)
    core.output.send(connection, data, session.persistent)
    return None


def options_of(requested: WantedSubscription) -> int:
    """Return the options byte of a subscription, encoded as in SUBSCRIBE."""
    return (
        requested.qos
        | (4 if requested.no_local else 0)
        | (8 if requested.retain_as_published else 0)
        | requested.retain_handling << 4
    )


def _code_of(refusal: str, version: int) -> int:
    if version < 5:
        return UNSPECIFIED_ERROR
    if refusal in ("max_topic_levels", "control_character"):
        return TOPIC_FILTER_INVALID
    if refusal == SUBSCRIBE_REFUSED:
        return NOT_AUTHORIZED
    return QUOTA_EXCEEDED
