"""The one entry to the core: stimuli go in, effects and batches come out.

The event loop calls a method for everything that happens, with the time. What to do afterwards is
in `effects`. `waits_for_commit`: a client waits for a batch; `seal` ends it, `committed` releases.
"""

from typing import Final

from gateway.core.changes import Changes
from gateway.core.core import Core
from gateway.core.effects import AuthenticationAnswer, HandOver, PageRequest
from gateway.core.limits import Limits
from gateway.core.output import Withheld
from gateway.core.records.batch import Batch
from gateway.core.records.kinds import ClockQuality, CloseReason, EndReason, Observation, StartKind
from gateway.core.records.recorder import Recorder
from gateway.core.rules.composition import Rules
from gateway.core.rules.permissions import AccessRules
from gateway.core.rules.revoke import Revoking
from gateway.core.sessions.connection import Connection
from gateway.core.sessions.message import Delivery, Message
from gateway.core.sessions.session import Session
from gateway.core.sessions.share import Share
from gateway.core.state import State
from gateway.core.violation import Violation
from gateway.core.work import SLICE_UNITS

TIMER_UNITS: Final = 7
"""Cost of a timer, at least: one slice is 71 of them, then sockets are served again."""


class SealedBatch:
    """A blob to commit (None: nothing new) and what to send afterwards."""

    def __init__(self, number: int, blob: bytes | None, withheld: list[Withheld]) -> None:
        self.number = number
        self.blob = blob
        self.withheld = withheld


class Broker:
    """MQTT 3.1, 3.1.1 and 5.0, without a clock or a socket."""

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
        """The batch that is being made."""
        self.state = state
        """To be read: sessions, retained messages, the tree of topics."""
        self._recorder = recorder
        self.timers = core.timers
        self._time = core.time
        self._output = core.output
        self.rules = Rules(core)
        """Not for other rooms."""
        self.silent = self.rules.packets.silent
        self.timeouts = self.rules.timeouts
        self.revoking = Revoking(core, self.rules.disconnecting)

    # -- a run

    def start(
        self,
        recovery: StartKind,
        version: str,
        previous_boot: str,
        now: float,
        wall_ms: int,
        clock: ClockQuality,
    ) -> None:
        """Take up what the run before left: connections that ended with it, and their wills.

        `wall_ms` is the time in milliseconds since 1970, and `clock` how good it is.
        """
        self._time.begin(now, wall_ms, clock, self.state.next_message_number)
        self._recorder.broker_started(recovery, version, previous_boot)
        self.rules.enqueueing.apply_policies(now)
        self.rules.restart.take_up(now)

    def stop(self, now: float) -> None:
        """Record that the broker stopped; connections have been ended before."""
        self._time.advance(now)
        self._recorder.broker_stopped()

    def limits_changed(self, now: float) -> None:
        """Apply replaced limits: sessions that wait may have to end earlier than before."""
        self.state.owners.assign(self.limits.quotas)
        self.rules.enqueueing.apply_policies(now)
        self.rules.putting_off.retry_all(now)
        for session in self.state.sessions.values():
            self.rules.disconnecting.schedule_expiry(session, now)

    def observe(
        self, session: Session | None, event: Observation, subject: str, detail: str
    ) -> None:
        """Record what changed no state."""
        self._recorder.observed(session, event, subject, detail)

    def restrict(self, rules: AccessRules | None) -> None:
        """Decide by these rules from now on who may do what; None: everything is allowed."""
        self.revoking.restrict(rules)

    def authenticate(self, authenticates: bool, methods: list[str]) -> None:
        """Take user names for proven from now on, or not any more."""
        self.revoking.authenticate(authenticates, methods)

    def know_users(self, users: frozenset[str] | None, removed: frozenset[str]) -> None:
        """Allow nothing to users that are gone: see `Revoking.know_users`."""
        self.revoking.know_users(users, removed)

    def give(self, session: Session, username: str) -> None:
        """Let a session that has no user belong to one."""
        self.revoking.give(session, username)

    def enforce(self, changed: frozenset[str], now: float) -> int:
        """End connections that may not go on, or whose user has `changed`; return how many."""
        self._time.advance(now)
        return self.revoking.enforce(changed, now)

    # -- connections

    def accept(
        self,
        address: str,
        anonymous: bool,
        now: float,
        share: Share | None = None,
        listener: str = "",
    ) -> Connection:
        """Take a connection that was made. It may come back closing: there are too many."""
        return self.rules.receiving.accept(address, anonymous, now, share, listener)

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        """Take bytes that arrived."""
        if connection.is_open:
            self._time.advance(now)
            self.rules.receiving.receive(connection, data, now)

    def go_on(self, connection: Connection, now: float) -> None:
        """Give a connection that is behind its next slice of work."""
        if connection.behind:
            self._time.advance(now)
            self.work.spent = 0
            self.rules.receiving.go_on(connection, now)

    def authenticated(
        self, connection: Connection, answer: AuthenticationAnswer, now: float
    ) -> None:
        """Take the answer to one of `effects.logins`."""
        self._time.advance(now)
        self.rules.receiving.authenticated(connection, answer, now)

    def end_for(self, connection: Connection, violation: Violation, now: float) -> None:
        """Close for what was seen of a peer around its packets."""
        self._time.advance(now)
        self.rules.receiving.end_for(connection, violation, now)

    def lose(self, connection: Connection, reason: CloseReason, now: float) -> None:
        """End a network connection that is gone, or that its owner ends."""
        self._time.advance(now)
        self.rules.disconnecting.end(connection, reason, now)

    def drop_session(self, session: Session, now: float) -> None:
        """End a session, connected or not, because an operator asked for it."""
        self._time.advance(now)
        if session.connection is not None:
            self.rules.disconnecting.end(session.connection, CloseReason.KICKED, now)
        if not session.ended:
            self.rules.disconnecting.end_session(session, EndReason.DROPPED, now)

    def set_writable(self, connection: Connection, writable: bool, now: float) -> None:
        """Record that the socket's buffer filled up, or has room again and deliveries go on."""
        self._time.advance(now)
        connection.writable = writable
        if not writable:
            connection.unwritable_since = now
            self.rules.timeouts.watch_slow_reader(connection, now)
        if writable and connection.session is not None:
            self.rules.deliverer.pump(connection.session, now)

    def set_reading(self, connection: Connection, reading: bool, now: float) -> None:
        """Record that the event loop stopped reading from the connection, or goes on reading."""
        if reading and not connection.reading:
            connection.last_packet = now  # what it sent meanwhile is still to be read
        connection.reading = reading

    # -- the disk, the clock, the values of `$SYS`

    def set_disk_full(self, full: bool) -> None:
        """Record that the disk has no room for anything new, or has some again."""
        was_full, self.limits.disk_full = self.limits.disk_full, full
        if was_full and not full:
            self.rules.putting_off.take_all()

    def page_loaded(
        self,
        request: PageRequest,
        contents: dict[int, Message],
        deliveries: list[Delivery],
        now: float,
    ) -> None:
        """Take what the store read for one of `effects.pages`."""
        self._time.advance(now)
        self.rules.deliverer.page_loaded(request, contents, deliveries, now)

    def handed_over(
        self,
        request: HandOver,
        contents: dict[int, Message],
        deliveries: list[Delivery],
        now: float,
    ) -> None:
        """Take what the store read for one of `effects.hand_overs`."""
        self._time.advance(now)
        self.rules.redistribution.finish(request, contents, deliveries, now)

    def evict(self, session: Session) -> None:
        """Keep in memory no more of a queue than is needed: the tables have it."""
        self.rules.deliverer.evict(session)

    def answer_system_subscriptions(self, values: dict[str, bytes]) -> None:
        """Send the values of now to `effects.system_subscriptions`."""
        self.rules.system_messages.answer(values)

    def publish_system_values(self, values: dict[str, bytes]) -> None:
        """Send values that have changed to their subscribers."""
        self.rules.system_messages.publish(values)

    def next_due(self) -> float | None:
        """Return when `wake` wants to be called."""
        return self.timers.next_due()

    def wake(self, now: float) -> None:
        """Run timers that are due. What they set for now waits for the next call: sockets first."""
        self._time.advance(now)
        self.work.spent = 0
        last = self.timers.count
        while self.work.spent <= SLICE_UNITS:
            timer = self.timers.take_due(now, last)
            if timer is None:
                return
            self.work.spent += TIMER_UNITS
            if timer.connection is not None and timer.connection.is_open:
                self.rules.timeouts.connection_due(timer, timer.connection, now)
            elif timer.session is not None and not timer.session.ended:
                self.rules.timeouts.session_due(timer, timer.session, now)

    # -- batches

    def waits_for_commit(self) -> bool:
        """Return whether a client waits for the batch that is being made."""
        return self._output.waits()

    @property
    def committed_batch(self) -> int:
        """The newest batch that is durable."""
        return self._output.committed_batch

    @property
    def changes(self) -> Changes:
        """What the tables do not have yet."""
        return self.state.changes

    def seal(self, now: float, wall_ms: int, clock: ClockQuality) -> SealedBatch:
        """End the batch that is being made.

        `wall_ms` is the time in milliseconds since 1970, and `clock` how good it is.
        """
        number = self.batch.batch_number
        withheld = self._output.seal()
        self.rules.disconnecting.seal()
        self._time.advance(now)
        blob = self._recorder.seal(wall_ms, clock)
        if self._time.learned:
            self._time.learned = False
            self.rules.restart.count_time_switched_off(now)
        return SealedBatch(number, blob, withheld)

    def take_part(self, now: float, wall_ms: int, clock: ClockQuality) -> bytes:
        """Return what was recorded since the last part of the batch: see `Batch.take_part`."""
        self._time.advance(now)
        return self._recorder.take_part(wall_ms, clock)

    def committed(self, batch: SealedBatch) -> None:
        """Release what waited for a batch that is durable."""
        self._output.release(batch.withheld, batch.number)
        self.rules.disconnecting.committed()
