"""SUBSCRIBE and UNSUBSCRIBE (sections 3.8 to 3.11), and retained messages for new subscriptions."""

from typing import Final

from gateway.core.limits import Limits
from gateway.core.output import Output
from gateway.core.recorder import Recorder
from gateway.core.retained_replay import RetainedReplay
from gateway.core.session import Connection, Session, Subscription
from gateway.core.state import State
from gateway.core.statistics import Statistics
from gateway.wire.encoder import encode
from gateway.wire.packets import Suback, Subscribe, Unsuback, Unsubscribe

FAILURE: Final = 0x80


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
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.output = output
        self.retained_replay = retained_replay
        self.limits = limits
        self.statistics = statistics

    def receive_subscribe(
        self, session: Session, connection: Connection, packet: Subscribe, now: float
    ) -> None:
        """Make or replace subscriptions, answer, then send what is retained [MQTT-3.8.4-4]."""
        codes: list[int] = []
        made: list[Subscription] = []
        for wanted in packet.subscriptions:
            refusal = self._refusal_of(session, wanted.topic_filter)
            if refusal:
                self.statistics.count_error(refusal)
                self.statistics.note(
                    f"client {session.client_id!r}: subscription refused: {refusal} reached"
                )
                self.recorder.observed(session, "limit_hit", refusal, wanted.topic_filter[:200])
                codes.append(FAILURE)
                continue
            subscription = Subscription(wanted.topic_filter, wanted.qos, wanted.qos, 0)
            if session.durable:
                self.recorder.subscribed(session, subscription)
            else:
                self.state.subscribed(session, subscription)
            made.append(subscription)
            codes.append(wanted.qos)  # [MQTT-3.9.3-1] one code for each filter, in order
        suback = encode(Suback(packet.packet_id, codes), connection.version)
        self._answer(session, connection, suback)
        for subscription in made:
            self.retained_replay.want(session, connection, subscription, now)
        self.retained_replay.pump(connection, now)

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
    ) -> None:
        """Remove subscriptions; UNSUBACK comes even where there were none [MQTT-3.10.4-5]."""
        for topic_filter in packet.topic_filters:
            if topic_filter in session.subscriptions:
                if session.durable:
                    self.recorder.unsubscribed(session, topic_filter)
                else:
                    self.state.unsubscribed(session, topic_filter)
        codes = [0] * len(packet.topic_filters)
        self._answer(session, connection, encode(Unsuback(packet.packet_id, codes), 4))

    def _answer(self, session: Session, connection: Connection, data: bytes) -> None:
        if session.durable:
            self.output.withhold(connection, data)
        else:
            self.output.send(connection, data)
