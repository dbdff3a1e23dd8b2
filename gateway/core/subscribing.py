"""SUBSCRIBE and UNSUBSCRIBE (sections 3.8 to 3.11), and retained messages for new subscriptions."""

from typing import Final

from gateway.core.limits import Limits
from gateway.core.output import Output
from gateway.core.recorder import Recorder
from gateway.core.retained_replay import RetainedReplay
from gateway.core.routes import is_system_topic
from gateway.core.session import Connection, Session, Subscription
from gateway.core.state import State
from gateway.core.statistics import Statistics
from gateway.core.system_messages import SystemMessages
from gateway.core.violation import (
    NO_SUBSCRIPTION_EXISTED,
    QUOTA_EXCEEDED,
    TOPIC_FILTER_INVALID,
    Violation,
    too_large,
)
from gateway.wire.encoder import encode
from gateway.wire.packets import Suback, Subscribe, Unsuback, Unsubscribe
from gateway.wire.packets import Subscription as WantedSubscription

FAILURE: Final = 0x80
AT_SUBSCRIBE: Final = 0
IF_NEW: Final = 1
"""Retain handling (5.0 section 3.8.3.1); 2: never."""


class Subscribing:
    """What a client asks to be told."""

    def __init__(
        self,
        state: State,
        recorder: Recorder,
        output: Output,
        retained_replay: RetainedReplay,
        limits: Limits,
        statistics: Statistics,
        system_messages: SystemMessages,
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.output = output
        self.retained_replay = retained_replay
        self.limits = limits
        self.statistics = statistics
        self.system_messages = system_messages

    def receive_subscribe(
        self, session: Session, connection: Connection, packet: Subscribe, now: float
    ) -> Violation | None:
        """Make or replace subscriptions, answer, then send what is retained [MQTT-3.8.4-4]."""
        codes: list[int] = []
        wants_retained: list[Subscription] = []
        identifier = 0
        if packet.properties is not None and packet.properties.subscription_identifiers:
            identifier = packet.properties.subscription_identifiers[0]
        for wanted in packet.subscriptions:
            refusal = self._refusal_of(session, wanted.topic_filter)
            if refusal:
                self.statistics.count_error(refusal)
                self.statistics.note(
                    f"client {session.client_id!r}: subscription refused: {refusal} reached"
                )
                self.recorder.observed(session, "limit_hit", refusal, wanted.topic_filter[:200])
                codes.append(_code_of(refusal, connection.version))
                continue
            subscription = Subscription(wanted.topic_filter, options_of(wanted), identifier)
            is_new = wanted.topic_filter not in session.subscriptions
            if session.durable:
                self.recorder.subscribed(session, subscription)
            else:
                self.state.subscribed(session, subscription)
            self.statistics.subscribed(session, subscription)
            handling = subscription.retain_handling
            if not subscription.is_shared and (
                handling == AT_SUBSCRIBE or (handling == IF_NEW and is_new)
            ):
                # [MQTT5-3.3.1-9], [MQTT5-3.3.1-10], [MQTT5-3.3.1-11]
                wants_retained.append(subscription)
            codes.append(wanted.qos)  # [MQTT-3.9.3-1] one code for each filter, in order
        suback = encode(Suback(packet.packet_id, codes), connection.version)
        violation = self._answer(session, connection, suback, "SUBACK")
        if violation is not None:
            return violation
        for subscription in wants_retained:
            if is_system_topic(subscription.topic_filter):
                self.system_messages.request(session, subscription)
            self.retained_replay.want(session, connection, subscription, now)
        self.retained_replay.pump(connection, now)
        return None

    def _refusal_of(self, session: Session, topic_filter: str) -> str:
        if topic_filter.count("/") >= self.limits.max_topic_levels:
            return "max_topic_levels"
        if (
            topic_filter not in session.subscriptions
            and len(session.subscriptions) >= self.limits.max_subscriptions
        ):
            return "max_subscriptions"
        return ""

    def receive_unsubscribe(
        self, session: Session, connection: Connection, packet: Unsubscribe
    ) -> Violation | None:
        """Remove subscriptions; UNSUBACK comes even where there were none [MQTT-3.10.4-5]."""
        codes: list[int] = []
        for topic_filter in packet.topic_filters:
            existed = topic_filter in session.subscriptions
            codes.append(0 if existed else NO_SUBSCRIPTION_EXISTED)
            if existed:
                if session.durable:
                    self.recorder.unsubscribed(session, topic_filter)
                else:
                    self.state.unsubscribed(session, topic_filter)
                self.statistics.unsubscribed(session, topic_filter)
        unsuback = encode(Unsuback(packet.packet_id, codes), connection.version)
        return self._answer(session, connection, unsuback, "UNSUBACK")

    def _answer(
        self, session: Session, connection: Connection, data: bytes, name: str
    ) -> Violation | None:
        if 0 < connection.maximum_packet_size_bytes < len(data):
            return too_large(name, len(data), connection.maximum_packet_size_bytes)
        self.output.send(connection, data, session.durable)
        return None


def options_of(wanted: WantedSubscription) -> int:
    """Return the options byte of a subscription as it came."""
    return (
        wanted.qos
        | (4 if wanted.no_local else 0)
        | (8 if wanted.retain_as_published else 0)
        | wanted.retain_handling << 4
    )


def _code_of(refusal: str, version: int) -> int:
    if version < 5:
        return FAILURE
    return TOPIC_FILTER_INVALID if refusal == "max_topic_levels" else QUOTA_EXCEEDED
