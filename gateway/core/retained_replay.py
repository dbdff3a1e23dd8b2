"""Retained messages for new subscriptions, in slices: a subscriber to `#` stalls nobody.

A connection has one list of filters whose retained messages are still wanted; asking again for one
that waits adds nothing. What a durable session gets at QoS 1 or 2 enters its queue in the batch of
its SUBACK, as far as there is room: a power cut must not take it back. Everything else is sent a
slice at a time, as fast as the client reads.
"""

from typing import Final

from gateway.core.delivering import Deliverer
from gateway.core.limits import Limits
from gateway.core.recorder import Recorder
from gateway.core.session import CONNECTED, Connection, Message, Session, Subscription
from gateway.core.state import State
from gateway.core.timers import RETAINED, Timer, Timers

SLICE_MESSAGES: Final = 500
"""Retained messages handled before the loop gets its turn: about a millisecond."""

WAIT_SECONDS: Final = 0.05
"""How long a slice waits for a client whose queue or socket is full."""


class RetainedReplay:
    """Sends what is retained to those who have just subscribed [MQTT-3.3.1-6]."""

    def __init__(
        self,
        state: State,
        recorder: Recorder,
        deliverer: Deliverer,
        limits: Limits,
        timers: Timers,
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.deliverer = deliverer
        self.limits = limits
        self.timers = timers

    def want(
        self, session: Session, connection: Connection, subscription: Subscription, now: float
    ) -> None:
        """A subscription was made: its retained messages are on their way."""
        if session.durable and subscription.qos:
            self._queue_durable(session, subscription, now)
        connection.retained_wanted[subscription.topic_filter] = subscription

    def _queue_durable(self, session: Session, subscription: Subscription, now: float) -> None:
        for message in self.state.tree.retained_matching(subscription.topic_filter):
            qos = min(message.qos, subscription.qos)
            if qos and not self._has_expired(message):
                dropped = session.dropped_messages
                self.deliverer.deliver(session, message, qos, True, False, now)
                if session.dropped_messages > dropped:
                    return  # the queue is full: each further one would be dropped and recorded

    def pump(self, connection: Connection, now: float) -> None:
        """Send a slice, and come back for the next."""
        if connection.replaying:
            return  # a timer will come up
        self._send_slice(connection, now)

    def resume(self, connection: Connection, now: float) -> None:
        """The timer of a slice came up."""
        connection.replaying = False
        self._send_slice(connection, now)

    def _send_slice(self, connection: Connection, now: float) -> None:
        session = connection.session
        left = SLICE_MESSAGES
        while left and connection.state == CONNECTED and session is not None:
            if not connection.writable or session.queued_count:
                self._come_back(connection, now + WAIT_SECONDS)
                return
            message = self._next(connection, session)
            if message is None:
                return
            left -= 1
            self._send(session, connection, message, now)
        if session is not None and not session.ended:
            self._come_back(connection, now)

    def _come_back(self, connection: Connection, when: float) -> None:
        connection.replaying = True
        self.timers.add(when, Timer(RETAINED, connection, None))

    def _next(self, connection: Connection, session: Session) -> Message | None:
        """Return the next message of the current filter, or begin with the next filter."""
        while not connection.retained_left:
            if not connection.retained_wanted:
                connection.retained_current = None
                return None
            topic_filter = next(iter(connection.retained_wanted))
            subscription = connection.retained_wanted.pop(topic_filter)
            if session.subscriptions.get(topic_filter) is subscription:
                connection.retained_current = subscription
                connection.retained_left = self.state.tree.retained_matching(topic_filter)
                connection.retained_left.reverse()
        return connection.retained_left.pop()

    def _send(self, session: Session, connection: Connection, message: Message, now: float) -> None:
        subscription = connection.retained_current
        if subscription is None or self.state.retained.get(message.topic) is not message:
            return  # replaced since: the newer one went out as it came
        if self._has_expired(message):
            return
        qos = min(message.qos, subscription.qos)
        if not qos:
            self.deliverer.deliver_qos0(session, message, True, False, b"")
        elif not session.durable:
            # [MQTT-3.3.1-8]
            self.deliverer.deliver(session, message, qos, True, False, now)

    def _has_expired(self, message: Message) -> bool:
        """Forget a retained message whose expiry interval has passed (5.0 section 3.3.2.3.3)."""
        expired = self.deliverer.frames.is_expired(message)
        if expired and self.state.retained.get(message.topic) is message:
            self.recorder.retained_cleared(message.topic)
        return expired
