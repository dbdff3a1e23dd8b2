"""Entry point of the core, called by the event loop.

The event loop calls a method of `Broker` for each event, and then processes the requests in
`Broker.effects`. A batch is a group of changes that are committed together. If a client waits for
the current batch (`waits_for_commit`), the event loop ends the batch by calling `seal`, commits it,
and calls `committed`, which releases the packets that waited for the batch.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.effects import AuthenticationAnswer, HandOver, PageRequest
from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.limits import Limits
from gateway.broker.core.output import SealedBatch
from gateway.broker.core.permissions import AccessRules
from gateway.broker.core.records.batch import Batch
from gateway.broker.core.records.kinds import CloseReason, EndReason, Observation, StartKind
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.rules import receive, restart, timeouts
from gateway.broker.core.rules.connect import disconnect, revoke, silent
from gateway.broker.core.rules.deliver import defer, deliver, enqueue
from gateway.broker.core.rules.subscribe import shared_subscriptions, system_topics
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.share import Share
from gateway.broker.core.state import State
from gateway.broker.core.violation import Violation


class Broker:
    """An MQTT 3.1, 3.1.1 and 5.0 broker, without clocks or sockets."""

    def __init__(
        self,
        state: State,
        recorder: Recorder,
        limits: Limits,
        authenticates: bool,
        methods: list[str],
    ) -> None:
        core = Core(state, recorder, limits, authenticates, methods)
        self.effects = core.effects
        self.limits = limits
        self.bans = core.bans
        self.statistics = core.statistics
        self.work = state.work
        self.batch: Batch = recorder
        """The batch whose records are being collected."""
        self.state = state
        """Read-only: sessions, retained messages, the tree of topics."""
        self._recorder = recorder
        self.timers = core.timers
        self._time = core.time
        self._output = core.output
        self.core = core
        """Not for use by other packages."""

    # -- a run

    def start(
        self,
        recovery: StartKind,
        version: str,
        previous_boot: str,
        now: float,
        wall_ms: int,
        clock_quality: ClockQuality,
    ) -> None:
        """Start the broker with the recovered state.

        Connections of the previous run (`previous_boot`) are recorded as closed, and their wills
        are published or scheduled. `recovery` is the condition of the stored data. `wall_ms` is the
        wall time in milliseconds since 1970, and `clock_quality` is its reliability.
        """
        self._time.begin(now, wall_ms, clock_quality, self.state.next_message_number)
        self._recorder.broker_started(recovery, version, previous_boot)
        enqueue.apply_policies(self.core, now)
        restart.resume_all(self.core, now)

    def stop(self, now: float) -> None:
        """Record that the broker stops. Call this after all connections have been closed."""
        self._time.advance(now)
        self._recorder.broker_stopped()

    def limits_changed(self, now: float) -> None:
        """Apply changed limits, for example a shorter session expiry, to existing sessions."""
        self.state.owners.assign(self.limits.quotas)
        enqueue.apply_policies(self.core, now)
        defer.retry_all(self.core, now)
        for session in self.state.sessions.values():
            disconnect.schedule_expiry(self.core, session, now)

    def observe(
        self, session: Session | None, event: Observation, subject: str, detail: str
    ) -> None:
        """Record an observation, which is an event in the session log that changes no state."""
        self._recorder.observed(session, event, subject, detail)

    def restrict(self, rules: AccessRules | None) -> None:
        """Replace the access rules. If `rules` is None, everything is allowed."""
        revoke.restrict(self.core, rules)

    def authenticate(self, authenticates: bool, methods: list[str]) -> None:
        """Turn user name authentication on or off, and set the enhanced authentication methods."""
        revoke.authenticate(self.core, authenticates, methods)

    def deny_removed_users(self, users: frozenset[str] | None, removed: frozenset[str]) -> None:
        """Deny access to removed users. If `users` is not None, all others count as removed."""
        revoke.deny_removed_users(self.core, users, removed)

    def assign_owner(self, session: Session, username: str) -> None:
        """Assign a session that belongs to no user to the user `username`."""
        revoke.assign_owner(self.core, session, username)

    def enforce(self, changed: frozenset[str], now: float) -> int:
        """Disconnect the users in `changed`, and all clients that are no longer allowed to connect.

        `changed` contains users whose credentials changed. Return the number of closed connections.
        """
        self._time.advance(now)
        return revoke.enforce(self.core, changed, now)

    def revoke_certificates(self, revoked: frozenset[str]) -> int:
        """Stop delivery to sessions of disconnected clients whose certificate is in `revoked`.

        Return the number of sessions to which this call stopped delivery.
        """
        return revoke.revoke_certificates(self.core, revoked)

    @property
    def authenticates(self) -> bool:
        """True if user names are authenticated."""
        return self.core.authenticates

    @property
    def removed_users(self) -> frozenset[str]:
        """The names of removed users that still own sessions or retained messages."""
        return self.core.permissions.removed_users

    # -- connections

    def accept(
        self,
        address: str,
        anonymous: bool,
        now: float,
        share: Share | None = None,
        listener: str = "",
    ) -> Connection:
        """Create and return a connection. It is already closed if too many others are open."""
        return receive.accept(self.core, address, anonymous, now, share, listener)

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        """Process bytes received from a connection."""
        if connection.is_open:
            self._time.advance(now)
            receive.receive(self.core, connection, data, now)

    def continue_connection(self, connection: Connection, now: float) -> None:
        """Process at most one slice (about a millisecond) of a connection's remaining data."""
        if connection.has_more_work:
            self._time.advance(now)
            self.work.spent = 0
            receive.continue_receiving(self.core, connection, now)

    def authenticated(
        self, connection: Connection, answer: AuthenticationAnswer, now: float
    ) -> None:
        """Process the authenticator's response to a request from `effects.logins`."""
        self._time.advance(now)
        receive.authenticated(self.core, connection, answer, now)

    def end_for(self, connection: Connection, violation: Violation, now: float) -> None:
        """Close a connection because the server (not the core) has detected a violation."""
        self._time.advance(now)
        receive.end_for(self.core, connection, violation, now)

    def connection_lost(self, connection: Connection, reason: CloseReason, now: float) -> None:
        """Record that a connection was lost or was closed by the server, with the reason."""
        self._time.advance(now)
        disconnect.end(self.core, connection, reason, now)

    def drop_session(self, session: Session, now: float) -> None:
        """Delete a session, connected or not, at an operator's request."""
        self._time.advance(now)
        if session.connection is not None:
            disconnect.end(self.core, session.connection, CloseReason.KICKED, now)
        if not session.ended:
            disconnect.end_session(self.core, session, EndReason.DROPPED, now)

    def close_silent(self, now: float) -> bool:
        """Close the oldest connection that has sent no CONNECT. Return True if one was closed."""
        return silent.close_oldest(self.core, None, now)

    def set_writable(self, connection: Connection, writable: bool, now: float) -> None:
        """Record whether more data can be written to a connection. If so, send queued messages."""
        self._time.advance(now)
        connection.writable = writable
        if not writable:
            connection.unwritable_since = now
            timeouts.watch_slow_reader(self.core, connection, now)
        if writable and connection.session is not None:
            deliver.pump(self.core, connection.session, now)

    def set_reading(self, connection: Connection, reading: bool, now: float) -> None:
        """Record whether the event loop is reading from the connection or has paused reading."""
        if reading and not connection.reading:
            connection.last_packet = now  # data that it sent meanwhile is still unread
        connection.reading = reading

    # -- the disk, the clock, the values of `$SYS`

    def set_disk_full(self, full: bool) -> None:
        """Record whether the disk is full. If it has room again, retry the deferred messages."""
        was_full, self.limits.disk_full = self.limits.disk_full, full
        if was_full and not full:
            defer.take_all(self.core)

    def page_loaded(
        self,
        request: PageRequest,
        contents: dict[int, Message],
        deliveries: list[Delivery],
        now: float,
    ) -> None:
        """Process the queued messages that the store has loaded for `request`."""
        self._time.advance(now)
        deliver.page_loaded(self.core, request, contents, deliveries, now)

    def handed_over(
        self,
        request: HandOver,
        contents: dict[int, Message],
        deliveries: list[Delivery],
        now: float,
    ) -> None:
        """Pass loaded messages of an ended session to other members of its shared subscriptions."""
        self._time.advance(now)
        shared_subscriptions.finish(self.core, request, contents, deliveries, now)

    def evict(self, session: Session) -> None:
        """Drop a session's queued messages from memory if they are on disk and not needed soon."""
        deliver.evict(self.core, session)

    def answer_system_subscriptions(self, values: dict[str, bytes]) -> None:
        """Send the current values of `$SYS` topics to their new subscribers."""
        system_topics.answer(self.core, values)

    def publish_system_values(self, values: dict[str, bytes]) -> None:
        """Send changed values of `$SYS` topics to their subscribers."""
        system_topics.publish(self.core, values)

    def next_due(self) -> float | None:
        """Return the time at which `wake` should be called, or None if no timer is set."""
        return self.timers.next_due()

    def wake(self, now: float) -> None:
        """Run the timers that are due, for at most one slice (about a millisecond) of work."""
        self._time.advance(now)
        timeouts.run_due(self.core, now)

    def restart_timeouts(self, now: float) -> None:
        """Restart the timeouts of all clients, because the process was blocked for a while."""
        timeouts.restart(self.core, now)

    # -- batches

    def waits_for_commit(self) -> bool:
        """Return True if a client is waiting for the commit of the current batch."""
        return self._output.waits()

    @property
    def committed_batch(self) -> int:
        """The sequence number of the newest durable batch."""
        return self._output.committed_batch

    def seal(self, now: float, wall_ms: int, clock_quality: ClockQuality) -> SealedBatch:
        """End the current batch. Return it together with the packets that wait for its commit.

        `wall_ms` is the time in milliseconds since 1970, and `clock_quality` is its reliability.
        """
        number = self.batch.batch_number
        withheld = self._output.seal()
        disconnect.seal(self.core)
        self._time.advance(now)
        blob = self._recorder.seal(wall_ms, clock_quality)
        if self._time.outage_became_known:
            self._time.outage_became_known = False
            restart.count_time_switched_off(self.core, now)
        return SealedBatch(number, blob, withheld)

    def take_part(self, now: float, wall_ms: int, clock_quality: ClockQuality) -> bytes:
        """Encode and return the records added since the last call. The batch stays open."""
        self._time.advance(now)
        return self._recorder.take_part(wall_ms, clock_quality)

    def committed(self, batch: SealedBatch) -> None:
        """Release the packets that waited for `batch`, because the batch is durable now."""
        self._output.release(batch.withheld, batch.number)
        disconnect.committed(self.core)
