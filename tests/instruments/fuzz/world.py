"""The real broker on the real store with peers, and the rules that must hold at any time.

A power cut brings back the committed state. Everything that a peer had received must be part of it.
This is the rule "speak only after the commit", seen from outside.
"""

from pathlib import Path
from typing import Final

from gateway.broker.core.effects import AuthenticationRequest
from gateway.broker.core.limits import ACCEPTED_BEFORE_BYTES, ACCEPTED_BEFORE_MESSAGES, Limits
from gateway.broker.core.retained_totals import place_bytes_of
from gateway.broker.core.sessions.connection import ConnectionState
from gateway.broker.core.sessions.message import DeliveryState
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.when_full import WhenFull
from tests.broker.core.harness import Harness
from tests.broker.core.owned import check_owners
from tests.broker.core.picture import Picture, picture_of
from tests.instruments.fuzz.made_packets import METHOD
from tests.instruments.fuzz.peer import Peer

SESSION_EXPIRY_SECONDS_MAX: Final = 3_600.0
"""A limit, so that even a session that never expires ends with the program."""

TIMERS_MAX: Final = 1_000
"""More timers than a program can set. A timer that sets itself again forever reaches this."""

STEPS_TO_THE_END_MAX: Final = 1_000
"""Timers that may run one after the other before none is left."""

SESSION_ROWS: Final = ("sessions", "subscriptions", "inbound", "outbound", "queue", "wills")
SYSTEM_VALUES: Final = {"$SYS/broker/uptime": b"1 seconds"}


def limits_of(choice: int) -> Limits:
    """Return limits that a short program can reach. Bits of `choice` select variants."""
    limits = Limits()
    when_full = WhenFull.SLOW if choice & 32 else WhenFull.DROP_NEWEST
    limits.when_full_of = lambda _: when_full
    limits.max_inflight = 3
    limits.max_mqueue_len = 4
    limits.max_mqueue_bytes = 600
    limits.mqueue_store_qos0 = choice & 1 != 0
    limits.max_awaiting_rel = 3
    limits.max_awaiting_rel_bytes = 500
    limits.await_rel_timeout_seconds = 30.0 if choice & 2 else None
    limits.retry_interval_seconds = 20.0 if choice & 4 else None
    limits.check_payload_format = choice & 8 != 0
    limits.max_keep_alive_seconds = 90 if choice & 16 else 65_535
    limits.max_packet_size_bytes = 512
    limits.max_topic_alias = 2
    limits.max_session_expiry_seconds = SESSION_EXPIRY_SECONDS_MAX
    limits.max_connections = 6
    limits.max_subscriptions = 4
    limits.max_topic_levels = 8
    limits.max_retained = 3
    limits.max_retained_bytes = 4_000
    limits.max_sessions = 5
    return limits


class World(Harness):
    """A harness whose clients are peers."""

    def __init__(self, data_dir: Path, limits: Limits) -> None:
        self.asked: list[AuthenticationRequest] = []
        self.relied: list[Peer] = []
        super().__init__(data_dir, limits)

    def recovered_from_files(self) -> None:
        """Compare the state after a start with what peers had received before the cut."""
        self.broker.core.authenticates = True
        self.broker.core.methods = [METHOD]
        for peer in self.relied:
            self._check_kept(peer, self.broker.state.sessions)
        self.relied = []

    def _check_kept(self, peer: Peer, sessions: dict[str, Session]) -> None:
        assert peer.connection.session is not None, "only who is connected relies on anything"
        client_id = peer.connection.session.client_id
        session = sessions.get(client_id)
        assert session is not None, f"CONNACK was sent, and session {client_id!r} is gone"
        lost = peer.subscribed - peer.given_up - session.subscriptions.keys()
        assert not lost, f"SUBACK was sent, and the subscriptions {lost} are gone"
        if not peer.obeys:
            return
        if self.limits.await_rel_timeout_seconds is None:
            gone = peer.held - set(session.inbound)
            assert not gone, f"PUBREC was sent, and the messages {gone} are gone"
        for packet_id, step in peer.in_flight.items():
            delivery = session.outbound.get(packet_id)
            assert delivery is not None, f"PUBLISH {packet_id} was sent, and is forgotten"
            expected = DeliveryState.SENT if step else DeliveryState.RECEIVED
            # The peer may have sent PUBREC, with or without its record.
            assert delivery.state == expected or step == 2, f"PUBREL {packet_id} was sent too soon"

    # -- the work of the event loop

    def open_peer(self) -> Peer:
        """Open a connection that has not sent anything."""
        connection = self.broker.accept("127.0.0.1:1", True, self.now)
        peer = Peer(self, connection, 4)
        self.clients[connection] = peer
        return peer

    def peers(self) -> list[Peer]:
        """Return the peers whose connections have not ended."""
        return [client for client in self.clients.values() if isinstance(client, Peer)]

    def flush(self) -> None:
        """Deliver to every peer what the broker may send now."""
        self.asked += self.broker.effects.take_logins()
        if self.broker.effects.system_subscriptions:
            self.broker.answer_system_subscriptions(SYSTEM_VALUES)
        for connection in self.broker.effects.take_writes():
            peer = self.clients[connection]
            assert isinstance(peer, Peer), "only peers connect here"
            data = connection.take_outgoing()
            if data:
                peer.hear(data)
            if connection.closing:
                assert peer.closed, "closing, and not closed"
                peer.gone = True
                del self.clients[connection]

    def cut(self) -> None:
        """Cut the power, and compare the recovered state with what peers had received."""
        self.relied = [
            peer
            for peer in self.peers()
            if peer.connack_released and peer.is_connected and peer.session_is_persistent
        ]
        self.asked = []
        super().cut()

    def settle(self) -> Picture:
        """Disconnect all peers and commit. Return the state that must survive."""
        for peer in self.peers():
            self.lose(peer)
        self.asked = []
        self.broker.wake(self.now)
        self.commit()
        return picture_of(self)

    def cut_when_settled(self) -> None:
        """Cut the power when everything is durable, and check that the state is unchanged."""
        before = self.settle()
        self.cut()
        after = picture_of(self)
        after["sequence"] = self.recovered.next_sequence
        assert after == before, f"before the cut {before}, after it {after}"

    # -- rules that must hold

    def check(self) -> None:
        """Check that totals are right and no limit is exceeded."""
        limits, broker = self.limits, self.broker
        state = broker.state
        for session in state.sessions.values():
            self._check_session(session)
        kept = state.retained.values()
        assert len(kept) <= limits.max_retained, "max_retained"
        assert state.retained_memory_bytes() <= limits.max_retained_bytes, "max_retained_bytes"
        assert state.retained_totals.memory_bytes == sum(
            message.retained_bytes() for message in kept
        )
        held = [held for session in state.sessions.values() for held in session.inbound.values()]
        with_place = [place_bytes_of(each.message) for each in held if each.message.has_place]
        assert state.retained_totals.places == len(with_place), "places"
        assert state.retained_totals.places_bytes == sum(with_place), "places_bytes"
        assert len(state.sessions) <= limits.max_sessions, "max_sessions"
        inbound_bytes = sum(session.inbound_bytes for session in state.sessions.values())
        assert state.held_bytes == inbound_bytes, "held_bytes"
        check_owners(state)
        wills = [session.will for session in state.wills.values() if session.will is not None]
        assert state.wills_bytes == sum(will.memory_bytes() for will in wills), "wills_bytes"
        incoming = broker.core.incoming
        holders = {*incoming.parts, *incoming.aliases, *broker.timers.by_connection}
        assert all(each.is_open for each in holders), "memory of a closed connection"
        assert incoming.parts_bytes == sum(incoming.parts.values()), "parts_bytes"
        assert len(broker.timers.heap) <= TIMERS_MAX, "timers that nobody takes away"
        subscriptions = [len(session.subscriptions) for session in state.sessions.values()]
        assert state.tree.subscription_count == sum(subscriptions), "subscriptions in the tree"
        states = [peer.connection.state for peer in self.peers()]
        open_count = len(states) - states.count(ConnectionState.CLOSED)
        assert broker.statistics.connections_open == open_count, "connections_open"
        assert broker.statistics.clients_connected == states.count(ConnectionState.CONNECTED), (
            "clients_connected"
        )

    def _check_session(self, session: Session) -> None:
        limits = self.limits
        assert not session.ended, "a session that has ended"
        assert len(session.subscriptions) <= limits.max_subscriptions, "max_subscriptions"
        assert len(session.inbound) <= limits.max_awaiting_rel, "max_awaiting_rel"
        held_bytes = sum(held.message.size_bytes() for held in session.inbound.values())
        assert session.inbound_bytes == held_bytes, "inbound_bytes"
        assert len(session.outbound) <= limits.max_inflight, "max_inflight"
        queued = len(session.waiting) + session.stored_count + len(session.recent)
        assert session.queued_count == queued, "queued_count"
        slows = session.when_full is WhenFull.SLOW
        messages_max = limits.max_mqueue_len + slows * ACCEPTED_BEFORE_MESSAGES
        assert queued <= messages_max, "max_mqueue_len"
        bytes_max = limits.max_mqueue_bytes + slows * ACCEPTED_BEFORE_BYTES
        assert 0 <= session.queued_bytes <= bytes_max, "max_mqueue_bytes"
        connection = session.connection
        if connection is not None:
            assert connection.session is session, "a connection with another session"
            assert connection.state is ConnectionState.CONNECTED, (
                "a session with a connection that is closed"
            )
            assert len(connection.aliases_in) <= limits.max_topic_alias, "max_topic_alias"

    def check_answered(self) -> None:
        """Check after a commit that all requests are answered, except for PUBLISHes that wait."""
        for peer in self.peers():
            if peer.is_connected and not peer.connection.deferred.packets:
                assert peer.waits_for_nothing(), "an answer is missing"

    def end(self) -> None:
        """Disconnect all peers and expire everything. Nothing may remain in memory or on disk."""
        self.settle()
        for _ in range(STEPS_TO_THE_END_MAX):
            due = self.broker.next_due()
            if due is None:
                break
            self.advance(max(0.0, due - self.now))
        assert self.broker.next_due() is None, "timers that set themselves without end"
        self.check()
        state = self.broker.state
        left = (state.sessions, state.numbers, state.wills, self.clients)
        assert not any(left), f"left over: {left}"
        tree = state.tree
        assert tree.filters.root.is_empty(), "left over in the tree of filters"
        assert tree.subscription_bytes() == 0, "left over of what subscriptions cost"
        assert tree.filters.wildcard_patterns == 0, "left over of the patterns of filters"
        assert tree.topics.root.is_empty() or state.retained, "left over in the tree of topics"
        self.checkpoint()  # the end of a checkpoint that had begun before
        self.checkpoint()
        rows = self.rows(*SESSION_ROWS, "messages", "retained")
        kept = len(state.retained)
        assert rows == {**dict.fromkeys(SESSION_ROWS, 0), "messages": kept, "retained": kept}, rows
