"""The broker's state, and the effect of each fact on it. A fact is a recorded change of the state.

Each method is named after the fact that it applies. `records.layout` lists the facts. The running
core and recovery call the same methods, so a restart rebuilds the same state. `State.changes`
contains what the next checkpoint writes to disk. Of a clean session, only its will is written,
because the rest is discarded when its connection ends.
"""

from gateway.broker.core.changes import Changes
from gateway.broker.core.gateway_time import GatewayTime
from gateway.broker.core.owners import Owners
from gateway.broker.core.retained_totals import RetainedTotals
from gateway.broker.core.sessions.message import Delivery, DeliveryState, Held, Message, Will
from gateway.broker.core.sessions.session import MemoryQueues, Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.topics.tree import TopicTree


class State:
    """Sessions, subscriptions, messages in transit, retained messages and wills."""

    def __init__(self, logged_filters: list[str]) -> None:
        self.sessions: dict[str, Session] = {}
        self.numbers: dict[int, Session] = {}
        self.tree = TopicTree(logged_filters)
        self.work = self.tree.work
        self.owners = Owners()
        self.memory_queues = MemoryQueues()
        self.retained: dict[str, Message] = {}
        self.retained_totals = RetainedTotals(self.owners)
        self.held_bytes = 0
        """Sum of `inbound_bytes` over all sessions."""
        self.wills: dict[int, Session] = {}
        self.wills_bytes = 0
        """Memory of all wills, in bytes."""
        self.changes = Changes()
        self.time = GatewayTime()
        self.next_session_number = 1
        self.next_message_number = 1

    def freeze(self) -> Changes:
        """Return the changes for a checkpoint, and start collecting new changes."""
        frozen = self.changes
        self.changes = Changes()
        for session in frozen.sessions:
            session.frozen_first = session.first_position
            session.frozen_position = session.next_position
        return frozen

    # -- sessions

    def session_opened(self, session: Session) -> None:
        """Add a new session for a client that had no session."""
        self.sessions[session.client_id] = session
        self.numbers[session.number] = session
        if session.number >= self.next_session_number:
            self.next_session_number = session.number + 1
        self.owners.opened(session)
        if not session.persistent:
            session.memory_queues = self.memory_queues
            self.memory_queues.sessions[session] = None
        if session.persistent:
            self.changes.sessions.add(session)

    def session_owned(self, session: Session, username: str) -> None:
        """Assign a session to a user."""
        session.username = username
        self.owners.moved(session)
        if session.persistent:
            self.changes.sessions.add(session)

    def expiry_changed(self, session: Session, expiry_seconds: int) -> None:
        """Change the session expiry interval, as requested in a client's DISCONNECT."""
        session.expiry_seconds = expiry_seconds
        if session.persistent:
            self.changes.sessions.add(session)

    def session_resumed(self, session: Session) -> None:
        """Record that the client of a session has connected again."""
        session.closed_ms = 0
        if session.persistent:
            self.changes.sessions.add(session)

    def session_closed(self, session: Session, time_ms: int) -> None:
        """Record that a session's connection has ended. A persistent session is kept."""
        session.closed_ms = time_ms
        if session.persistent:
            self.changes.sessions.add(session)

    def session_ended(self, session: Session) -> None:
        """Discard a session with everything that belongs to it. Retained messages are kept."""
        session.ended = True
        self.owners.ended(session)
        if session.memory_queues is not None:
            self.memory_queues.bytes_count -= session.memory_bytes()
            self.memory_queues.sessions.pop(session, None)
            session.memory_queues = None
        session.set_shares(())
        for subscription in session.subscriptions.values():
            self.tree.unsubscribe(session, subscription)
        if session.persistent:
            self.changes.session_ended(session)
        session.subscriptions.clear()
        session.keys.clear()
        for held in session.inbound.values():
            self.retained_totals.released(held.message)
        session.inbound.clear()
        self.held_bytes -= session.inbound_bytes
        session.inbound_bytes = 0
        session.outbound.clear()
        session.unsent.clear()
        session.waiting.clear()
        session.recent.clear()
        session.stored_count = 0
        session.queued_count = 0
        session.queued_bytes = 0
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
        self.numbers.pop(session.number, None)

    # -- subscriptions

    def subscribed(self, session: Session, subscription: Subscription) -> None:
        """Add or replace a subscription."""
        self.owners.subscribed(session, subscription)
        before = session.subscriptions.get(subscription.topic_filter)
        session.subscriptions[subscription.topic_filter] = subscription
        if subscription.is_shared or subscription.identifier:
            session.keys[subscription.key] = subscription
        elif session.keys:
            session.keys.pop(subscription.key, None)
        self.tree.subscribe(session, subscription, before)
        if session.persistent:
            self.changes.subscriptions[session.number, subscription.topic_filter] = subscription

    def unsubscribed(self, session: Session, topic_filter: str) -> None:
        """Remove a subscription from its session, its user's counters and the topic tree."""
        subscription = session.subscriptions.pop(topic_filter, None)
        if subscription is not None:
            session.keys.pop(subscription.key, None)
            self.owners.unsubscribed(session, subscription)
            self.tree.unsubscribe(session, subscription)
        if session.persistent:
            self.changes.subscriptions[session.number, topic_filter] = None

    # -- QoS 2, receiving

    def message_held(self, held: Held) -> None:
        """Store a new QoS 2 message until it is released."""
        session = held.session
        before = session.inbound.get(held.packet_id)
        if before is not None:  # in a replay over tables that already contain it
            self._count_held(session, -before.message.size_bytes())
            self.retained_totals.released(before.message)
        session.inbound.put(held)
        self._count_held(session, held.message.size_bytes())
        self.retained_totals.held(held.message)
        if held.session.persistent:
            self.changes.held[held] = None

    def message_released(self, held: Held) -> None:
        """Free the packet identifier of a held message that was released or discarded."""
        session = held.session
        packet_id = held.packet_id
        if session.inbound.remove(packet_id):
            self._count_held(session, -held.message.size_bytes())
            self.retained_totals.released(held.message)
        if session.persistent:
            changes = self.changes
            if held in changes.held:
                del changes.held[held]
                if not held.stored:
                    return
            changes.released.add((session.number, packet_id))
            changes.orphans.add(held.message.number)

    def _count_held(self, session: Session, size_bytes: int) -> None:
        session.inbound_bytes += size_bytes
        self.held_bytes += size_bytes
        if session.owner is not None:
            session.owner.held_bytes += size_bytes

    # -- delivering

    def message_queued(self, delivery: Delivery, size_bytes: int) -> None:
        """Append a message to a session's queue."""
        session = delivery.session
        if delivery.position >= session.next_position:
            session.next_position = delivery.position + 1
        session.enqueue(delivery, size_bytes)
        if session.persistent:
            self.changes.deliveries[delivery] = None
            self.changes.sessions.add(session)

    def delivery_started(self, delivery: Delivery, packet_id: int) -> None:
        """Assign a packet identifier to a new or queued delivery, and mark it as in flight."""
        session = delivery.session
        delivery.packet_id = packet_id
        delivery.state = DeliveryState.SENT
        session.outbound.put(delivery)
        session.last_packet_id = packet_id
        position = delivery.position
        if position >= session.next_position:
            session.next_position = position + 1
            session.first_position = position + 1
        else:
            session.consume(position)
        if session.persistent:
            changes = self.changes
            if position < session.frozen_position and delivery not in changes.deliveries:
                delivery.stored = True
                changes.trimmed.add(session)
            changes.deliveries[delivery] = None
            changes.sessions.add(session)

    def delivery_received(self, delivery: Delivery) -> None:
        """Record a PUBREC. A later resend sends PUBREL instead of PUBLISH."""
        session = delivery.session
        delivery.state = DeliveryState.RECEIVED
        session.pubrecs += 1
        delivery.pubrec = session.pubrecs
        session.outbound.move_to_end(delivery)
        if session.persistent:
            changes = self.changes
            if delivery not in changes.deliveries:
                delivery.stored = True
                changes.deliveries[delivery] = None

    def delivery_completed(self, delivery: Delivery) -> None:
        """Free the packet identifier of a delivery after PUBACK or PUBCOMP."""
        session = delivery.session
        packet_id = delivery.packet_id
        session.outbound.remove(packet_id)
        delivery.state = DeliveryState.DONE
        if session.persistent:
            changes = self.changes
            if delivery in changes.deliveries:
                del changes.deliveries[delivery]
                if not delivery.stored:
                    return
            changes.completed.add((session.number, packet_id))
            changes.orphans.add(delivery.message_number)

    def delivery_skipped(self, delivery: Delivery) -> None:
        """Remove the first message of a session's queue, because it is sent at QoS 0 or dropped."""
        session = delivery.session
        session.consume(delivery.position)
        delivery.state = DeliveryState.DONE
        if session.persistent:
            changes = self.changes
            if delivery in changes.deliveries:
                del changes.deliveries[delivery]
            else:
                changes.trimmed.add(session)
                changes.orphans.add(delivery.message_number)
            changes.sessions.add(session)

    # -- retained messages and wills

    def retained_set(self, topic: str, message: Message) -> None:
        """Set a topic's retained message."""
        before = self.retained.get(topic)
        if before is not None:
            self.changes.orphans.add(before.number)
            self.retained_totals.remove(before)
        self.retained[topic] = message
        self.retained_totals.add(message)
        self.tree.set_retained(topic, message)
        self.changes.retained[topic] = message

    def retained_cleared(self, topic: str) -> None:
        """Remove a topic's retained message."""
        before = self.retained.pop(topic, None)
        if before is not None:
            self.changes.orphans.add(before.number)
            self.retained_totals.remove(before)
        self.tree.set_retained(topic, None)
        self.changes.retained[topic] = None

    def retained_memory_bytes(self) -> int:
        """Return the memory size of all retained messages and their topic levels, in bytes."""
        return self.retained_totals.memory_bytes + self.tree.topics.size_bytes

    def will_set(self, session: Session, will: Will) -> None:
        """Set the will of a session. It is stored on disk even if the session is clean."""
        if session.will is not None:
            self.wills_bytes -= session.will.memory_bytes()
        session.will = will
        self.wills_bytes += will.memory_bytes()
        self.wills[session.number] = session
        self.changes.wills[session.number] = session

    def will_cleared(self, session: Session) -> None:
        """Remove the will of a session, because it was published or is no longer needed."""
        if session.will is not None:
            self.wills_bytes -= session.will.memory_bytes()
        session.will = None
        self.wills.pop(session.number, None)
        self.changes.wills[session.number] = session
