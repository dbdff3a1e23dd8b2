"""Counters for statistics, and notices for the log. All drops and refusals are counted.

If there is an observer, such as a hook module, the methods that count an event also report it to
the observer. Therefore, counts and reports always agree.
"""

from collections.abc import Callable
from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from gateway.broker.core.denials import Denials
from gateway.broker.core.events import (
    Connected,
    Delivered,
    Disconnected,
    Dropped,
    Event,
    Lost,
    Published,
    Subscribed,
    Unsubscribed,
)
from gateway.broker.core.recent import RecentCounts
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.takeovers import REASON, Takeovers

NOTICES_MAX: Final = 100
"""Maximum notices stored until the event loop writes them to the log. Further notices are only
counted."""


class Statistics:
    """Counters since the process started. `errors` and `dropped` contain one counter per reason."""

    publishes_slowed = 0
    """Number of PUBLISH packets deferred because of a queue that slows its publishers."""

    def __init__(self) -> None:
        self.observe: Callable[[Event], None] | None = None
        """Function called with each event. It must return immediately and never raise."""
        self.connections_accepted = 0
        self.connections_refused = 0
        self.connections_open = 0
        self.clients_connected = 0
        """Number of connected clients."""
        self.clients_connected_max = 0
        self.clients_expired = 0
        self.bytes_received = 0
        self.bytes_sent = 0
        self.packets_received_total = 0
        self.packets_received = vec[i64]([0] * 16)
        """Packets received, by packet type. PUBLISH is counted by QoS instead."""
        self.packets_sent = vec[i64]([0] * 16)
        """Packets sent, by packet type. PUBLISH is counted by QoS instead."""
        self.received_qos0 = 0
        self.received_qos1 = 0
        self.received_qos2 = 0
        self.sent_qos0 = 0
        self.sent_qos1 = 0
        self.sent_qos2 = 0
        self.publish_bytes_received = 0
        self.publish_bytes_sent = 0
        """Payload bytes of PUBLISH packets, without topics and headers."""
        self.publishes_refused = 0
        self.publishes_resent = 0
        self.duplicates_suppressed = 0
        self.resent = 0
        self.abandoned = 0
        self.dropped: dict[str, int] = {}
        self.errors: dict[str, int] = {}

        self.notices: list[tuple[str, str]] = []
        self.notices_dropped = 0
        self.denials = Denials()
        self.takeovers = Takeovers()
        self.recently_denied = RecentCounts()
        self.recently_dropped = RecentCounts()

    def note(self, sentence: str, client_id: str = "") -> None:
        """Store a sentence for the log, for example the reason why a message was dropped."""
        if len(self.notices) < NOTICES_MAX:
            self.notices.append((sentence, client_id))
        else:
            self.notices_dropped += 1

    def count_error(self, reason: str, count: int = 1) -> None:
        """Add `count` to the error counter `reason`. Reaching a limit counts as an error too."""
        self.errors[reason] = self.errors.get(reason, 0) + count

    def deny(self, reason: str, session: Session, topic: str) -> None:
        """Count an action that access rules deny to a client, and store the denial for the log."""
        self.count_error(reason)
        session.denials += 1
        self.denials.add(reason, session.client_id, session.username, topic)
        self.recently_denied.add(reason, session.client_id, session.username, topic)

    def taken_over(self, client_id: str, displaced: str, newcomer: str, now: float) -> None:
        """Record that a new connection has displaced an older one with the same client identifier.

        `displaced` and `newcomer` are the addresses of the older and the new connection. Takeovers
        are counted as errors only if several devices seem to share the identifier.
        """
        count = self.takeovers.note(client_id, displaced, newcomer, now)
        if count:
            self.count_error(REASON, count)

    def publishes_received_total(self) -> int:
        """Return the number of received PUBLISH packets, including refused and repeated ones."""
        accepted = self.received_qos0 + self.received_qos1 + self.received_qos2
        return accepted + self.duplicates_suppressed + self.publishes_refused

    def publishes_sent_total(self) -> int:
        """Return the number of sent PUBLISH packets, including resent ones."""
        return self.sent_qos0 + self.sent_qos1 + self.sent_qos2 + self.publishes_resent

    # -- events that are also reported to an observer

    def connected(self, session: Session, connection: Connection, session_present: bool) -> None:
        """Increase the number of connected clients, and inform the observer."""
        self.clients_connected += 1
        self.clients_connected_max = max(self.clients_connected_max, self.clients_connected)
        if self.observe is not None:
            self.observe(
                Connected(
                    session.client_id,
                    connection.address,
                    connection.version,
                    connection.username,
                    connection.keep_alive_seconds,
                    session_present,
                )
            )

    def disconnected(self, session: Session, reason: CloseReason) -> None:
        """Decrease the number of connected clients, and inform the observer."""
        self.clients_connected -= 1
        if self.observe is None:
            return
        if reason is CloseReason.DISCONNECT:
            self.observe(Disconnected(session.client_id))
        else:
            self.observe(Lost(session.client_id, reason.word))

    def subscribed(self, session: Session, subscription: Subscription) -> None:
        """Inform the observer that a subscription was added or replaced."""
        if self.observe is not None:
            self.observe(Subscribed(session.client_id, subscription.topic_filter, subscription.qos))

    def unsubscribed(self, session: Session, topic_filter: str) -> None:
        """Inform the observer that a client removed a subscription."""
        if self.observe is not None:
            self.observe(Unsubscribed(session.client_id, topic_filter))

    def published(
        self,
        session: Session,
        topic: str,
        payload: bytes,
        qos: int,
        retain: bool,
        is_will: bool,
    ) -> None:
        """Inform the observer that a message is forwarded to its subscribers.

        Callers in frequently executed code first check whether `observe` is set, to save the call.
        """
        if self.observe is not None:
            self.observe(Published(session.client_id, topic, payload, qos, retain, is_will))

    def delivered(self, delivery: Delivery) -> None:
        """Inform the observer that a message was delivered.

        The message was delivered at QoS 1 or 2, or from the session's queue at QoS 0.
        """
        if self.observe is not None:
            message = delivery.message
            topic = None if message is None else message.topic
            self.observe(Delivered(delivery.session.client_id, topic, delivery.qos))

    def delivered_at_qos0(self, session: Session, topic: str) -> None:
        """Inform the observer that a QoS 0 message was sent."""
        if self.observe is not None:
            self.observe(Delivered(session.client_id, topic, 0))

    def drop(self, session: Session | None, topic: str | None, reason: str) -> None:
        """Count a message that is dropped for one receiver, or for all if `session` is None."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        client_id = "" if session is None else session.client_id
        username = None if session is None else session.username
        self.recently_dropped.add(reason, client_id, username, topic)
        if session is not None:
            session.dropped_messages += 1
        if self.observe is not None:
            self.observe(Dropped(client_id, topic, reason))
