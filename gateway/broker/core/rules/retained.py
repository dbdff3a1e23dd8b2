"""Retained messages for new subscriptions, sent in slices so that a subscriber to `#` stalls no
other.

Each connection has one list of filters whose retained messages are still to be sent; requesting one
that is in the list has no effect. QoS 1 and 2 messages for a persistent session enter its queue in
the same batch as its SUBACK, as far as there is room, so a power cut cannot lose them. Everything
else is sent in slices, as fast as the client reads.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.permissions import RECEIVE_REFUSED, SOURCE_REFUSED
from gateway.broker.core.rules.deliver import Deliverer
from gateway.broker.core.rules.subscribe_request import Asked, Found
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.topics.retained_walk import RetainedWalk
from gateway.broker.core.work import DELIVERY_UNITS, SLICE_UNITS

SLICE_MESSAGES: int = 500
"""Retained messages processed before the next turn of the event loop: about a millisecond."""

FIRST_MESSAGES: int = 50
"""Processed in the turn of the SUBSCRIBE itself, which may contain one from each of many
clients."""

SLICE_BYTES: Final = 1024 * 1024
"""Retained bytes sent before writing to the socket, which may then turn out to be full."""

SLICE_LEVELS: Final = 2_000
"""Topic levels visited before the next turn of the event loop if few have retained messages."""

WAIT_SECONDS: Final = 0.05
"""How long a slice waits for a client with a full queue or socket."""


class PendingReplay:
    """The retained messages still to be sent to a connection."""

    def __init__(self) -> None:
        self.wanted: dict[str, Subscription] = {}
        """Subscriptions still to be served, by filter."""
        self.current: Subscription | None = None
        self.walk: RetainedWalk | None = None
        self.found: list[Message] = []
        """Messages found and still to be sent, in reverse order."""
        self.scheduled = False
        """True if a timer will start the next slice."""


class RetainedReplay:
    """Sends retained messages to new subscribers [MQTT-3.3.1-6]."""

    def __init__(self, core: Core, deliverer: Deliverer) -> None:
        self.state = core.state
        self.recorder = core.recorder
        self.deliverer = deliverer
        self.limits = core.limits
        self.statistics = core.statistics
        self.permissions = core.permissions
        self.timers = core.timers
        self.replays: dict[Connection, PendingReplay] = {}
        self.asked: dict[Connection, Asked] = {}
        """The pending SUBSCRIBE of each connection without a SUBACK so far."""

    def find(self, session: Session, connection: Connection, asked: Asked) -> bool:
        """Find retained messages for a persistent session's queue. Return True when all are found.

        It finds at most as many as the queue and the window have room for, plus one, which will be
        counted as dropped.
        """
        if not session.persistent:
            return True
        room = self.limits.max_mqueue_len - session.queued_count
        count_max = room + connection.window_of(self.limits) + 1
        while asked.walks_done < len(asked.wants_retained) and len(asked.found) < count_max:
            subscription = asked.wants_retained[asked.walks_done]
            if asked.walk is None and subscription.qos:
                asked.walk = RetainedWalk(self.state.tree.topics.root, subscription.topic_filter)
            if asked.walk is None or asked.walk.is_over():
                asked.walk = None
                asked.walks_done += 1
            elif self.state.work.spent > SLICE_UNITS:
                return False
            else:
                self._find_some(session, asked, asked.walk, subscription)
        return True

    def _find_some(
        self, session: Session, asked: Asked, walk: RetainedWalk, subscription: Subscription
    ) -> None:
        self.state.work.spent += SLICE_MESSAGES
        for message in walk.step(SLICE_MESSAGES):
            if message.qos and not (
                self._has_expired(message) or self._is_refused(session, message)
            ):
                asked.found.append(Found(subscription, message))

    def queue(self, session: Session, asked: Asked, now: float) -> bool:
        """Deliver the messages that were found. Return True when all are delivered."""
        dropped = session.dropped_messages
        is_cut = len(asked.found) * DELIVERY_UNITS > SLICE_UNITS
        while asked.found_done < len(asked.found):
            if is_cut and self.state.work.spent > SLICE_UNITS:
                return False
            found = asked.found[asked.found_done]
            asked.found_done += 1
            message, subscription = found.message, found.subscription
            if self.state.retained.get(message.topic) is not message:
                continue  # replaced since: the newer one was delivered as a normal message
            self.state.work.spent += DELIVERY_UNITS
            flags = subscription.delivery_flags(min(message.qos, subscription.qos), True)
            if not self.deliverer.enqueueing.drops_retained(session, message):
                self.deliverer.deliver(session, message, flags, now)
            if session.dropped_messages > dropped:
                break  # the queue is full: each further one would be dropped and recorded
        asked.found = []
        return True

    def want(self, connection: Connection, subscription: Subscription) -> None:
        """Add a new subscription to those whose retained messages are to be sent."""
        replaying = self.replays.get(connection)
        if replaying is None:
            replaying = PendingReplay()
            self.replays[connection] = replaying
        replaying.wanted[subscription.topic_filter] = subscription

    def pump(self, connection: Connection, now: float) -> None:
        """Send a slice now, and schedule the next."""
        replaying = self.replays.get(connection)
        if replaying is not None and not replaying.scheduled:
            self._send_slice(connection, replaying, FIRST_MESSAGES, now)

    def resume(self, connection: Connection, now: float) -> None:
        """Send the next slice, when its timer fires."""
        replaying = self.replays.get(connection)
        if replaying is not None:
            replaying.scheduled = False
            self._send_slice(connection, replaying, SLICE_MESSAGES, now)

    def forget(self, connection: Connection) -> None:
        """Forget a closed connection: nothing more is sent on it."""
        self.replays.pop(connection, None)
        self.asked.pop(connection, None)

    def _send_slice(
        self, connection: Connection, replaying: PendingReplay, messages_max: int, now: float
    ) -> None:
        session = connection.session
        levels = SLICE_LEVELS
        left = messages_max
        while session is not None and connection.state is ConnectionState.CONNECTED:
            if not connection.writable or session.queued_count:
                self._come_back(connection, replaying, now + WAIT_SECONDS)
                return
            if not left or not levels or connection.forwarded_bytes >= SLICE_BYTES:
                self._come_back(connection, replaying, now)
                return
            if replaying.found:
                left -= 1
                self.state.work.spent += DELIVERY_UNITS
                self._send(session, connection, replaying, replaying.found.pop(), now)
            elif replaying.walk is not None and not replaying.walk.is_over():
                step = min(levels, messages_max)
                levels -= step
                self.state.work.spent += step
                replaying.found = replaying.walk.step(step)
                replaying.found.reverse()
            elif not self._begin_next(replaying, session):
                break
        self.replays.pop(connection, None)

    def _come_back(self, connection: Connection, replaying: PendingReplay, when: float) -> None:
        replaying.scheduled = True
        self.timers.add(when, Timer(TimerKind.RETAINED, connection, None))

    def _begin_next(self, replaying: PendingReplay, session: Session) -> bool:
        """Start the next filter. Return False if there is none."""
        while replaying.wanted:
            topic_filter = next(iter(replaying.wanted))
            subscription = replaying.wanted.pop(topic_filter)
            if session.subscriptions.get(topic_filter) is subscription:
                replaying.current = subscription
                replaying.walk = RetainedWalk(self.state.tree.topics.root, topic_filter)
                return True
        return False

    def _send(
        self,
        session: Session,
        connection: Connection,
        replaying: PendingReplay,
        message: Message,
        now: float,
    ) -> None:
        subscription = replaying.current
        if subscription is None or self.state.retained.get(message.topic) is not message:
            return  # replaced since: the newer one was delivered as a normal message
        if self._has_expired(message):
            return
        qos = min(message.qos, subscription.qos)
        if (qos and session.persistent) or self._is_refused(session, message):
            return
        flags = subscription.delivery_flags(qos, True)
        if not qos:
            self.deliverer.deliver_qos0(session, message, flags, b"")
        else:
            # [MQTT-3.3.1-8]
            self.deliverer.deliver(session, message, flags, now)

    def _is_refused(self, session: Session, message: Message) -> bool:
        """Return True if a session may not receive a retained message, or its publisher may not
        publish it now.
        """
        permissions = self.permissions
        if not permissions.restricted:
            return False
        if permissions.refuses_receive(session, message.topic):
            self.statistics.count_error(RECEIVE_REFUSED)
            return True
        source = message.source
        if source is None or not self.limits.check_retain_source:
            return False
        if not permissions.refuses_source(source, message.topic, message.qos):
            return False
        self.statistics.count_error(SOURCE_REFUSED)
        return True

    def _has_expired(self, message: Message) -> bool:
        """Remove a retained message whose expiry interval has passed (MQTT 5.0 section 3.3.2.3.3).

        Return True if it has expired.
        """
        expired = self.deliverer.frames.is_expired(message)
        if expired and self.state.retained.get(message.topic) is message:
            self.recorder.retained_cleared(message.topic)
        return expired
