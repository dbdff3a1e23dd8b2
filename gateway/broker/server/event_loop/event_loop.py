"""The event loop of the broker. It runs one tick after every event.

A tick sends the core's output, loads requested pages of queued messages, starts requested
credential checks, and lets the committer start a commit. This module accesses connections only
through `Channel`. The listeners handle sockets, WebSocket frames and PROXY headers.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter

from gateway.broker.access.authentication import Authenticator
from gateway.broker.core.broker import Broker
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.share import Share
from gateway.broker.core.violation import Violation
from gateway.broker.hooks.dispatch import Hooks
from gateway.broker.server.commit.committer import Committer
from gateway.broker.server.commit.faults import StoreFailed
from gateway.broker.server.commit.outcomes import Outcomes
from gateway.broker.server.event_loop.alarm import Alarm
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.broker.server.event_loop.channel import Channel
from gateway.broker.server.event_loop.clock_watch import ClockWatch
from gateway.broker.server.event_loop.closing import ClosingChannels
from gateway.broker.server.event_loop.notices import log_notices
from gateway.broker.server.event_loop.pages import Pages
from gateway.broker.server.event_loop.reading import PIECE_BYTES, FairReader
from gateway.broker.server.host.clock import WallClock
from gateway.broker.store.recovery import Recovered
from gateway.broker.store.store import Store
from gateway.configuration.sections import Limits as BatchLimits

UPKEEP_SECONDS = 1.0
"""Interval of `upkeep`, which checks checkpoints, the journal, the clock and disk space."""

BURST_BYTES = 1024 * 1024
"""Received bytes after which outgoing data is sent before the next tick. Otherwise messages that
arrive together would fill memory, once per subscriber, before slow readers are noticed."""


class EventLoop:
    """The event loop, which connects the clients' channels, the broker core and the store."""

    def __init__(
        self,
        broker: Broker,
        store: Store,
        recovered: Recovered,
        batch_limits: BatchLimits,
        authenticator: Authenticator,
    ) -> None:
        self.broker = broker
        self.limits = broker.limits
        self.store = store
        self.batch_limits = batch_limits
        self.authentications = Authentications(broker, authenticator, self._read_on)
        time = recovered.state.time
        self.wall_clock = WallClock(time.wall_ms, time.clock)
        self._clock_watch = ClockWatch(self.wall_clock, broker)
        self.failed = asyncio.Event()
        self.first_sequence = broker.batch.next_sequence
        """Sequence number of the first event of this run."""
        self.committer = self._committer_of(recovered)
        self.reading = self._reading_of()
        self._pages = Pages(broker, store)
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self.hooks: Hooks | None = None
        self.answer_system_topics: Callable[[], None] = lambda: None
        """Called when clients have subscribed to topics below `$SYS`."""
        self.check_disk: Callable[[], None] = lambda: None
        """Called once a second, and when the disk has no space for a batch of records."""
        self.channels: dict[Connection, Channel] = {}
        self.closing = ClosingChannels(self.channels)
        self._work = broker.work
        self._scheduled = False
        self._committing = False
        """True while this tick calls the committer."""
        self._alarm = Alarm(broker, self.schedule)
        self._received_bytes = 0
        """Number of bytes received since sockets were last written to."""

    def _committer_of(self, recovered: Recovered) -> Committer:
        outcomes: Outcomes[StoreFailed] = Outcomes(
            released=self._batch_released,
            written=self._write_out,
            failed=lambda _: self.failed.set(),
            full=lambda: self.check_disk(),  # noqa: PLW0108 - it is set later
        )
        known = (self.broker, self.store, recovered, self.batch_limits, self.wall_clock)
        return Committer(*known, outcomes)

    def _reading_of(self) -> FairReader:
        return FairReader(
            self.broker,
            self.batch_limits.max_uncommitted,
            may_continue=lambda: self.committer.failure is None,
            lose=self.lose,
            schedule=self.schedule,
        )

    # -- what happens

    def has_descriptor(self) -> bool:
        """Return True if a file descriptor is available for another connection.

        If none is available, the broker first tries to free one. To do this, it aborts a connection
        that is being closed or that has not sent CONNECT.
        """
        if not self.closing.is_room_short() or self.closing.cut_oldest():
            return True
        return self.broker.close_silent(self._loop.time())

    def accept(
        self,
        channel: Channel,
        address: str,
        *,
        anonymous: bool,
        share: Share | None,
        listener: str,
    ) -> Connection:
        """Accept a client's connection and pass it to the broker core."""
        now = self._loop.time()
        connection = self.broker.accept(address, anonymous, now, share, listener)
        self.channels[connection] = channel
        self.schedule()
        return connection

    def receive(self, channel: Channel, data: bytes) -> None:
        """Process received bytes. If this takes too long, `FairReader` processes the rest later."""
        if channel.unread:
            channel.unread = channel.unread[channel.unread_from :] + data
            channel.unread_from = 0
            return
        if channel.is_heavy and self.reading.postpones(channel, data):
            return
        recorder = self.broker.batch
        recorded_bytes = recorder.pending_bytes()
        self._work.spent = 0
        began = perf_counter()
        if len(data) <= PIECE_BYTES:
            self.broker.receive(channel.connection, data, self._loop.time())
        else:
            self.reading.begin(channel, data)
        self.reading.end_turn(channel, began)
        if recorder.pending_bytes() > self.batch_limits.max_uncommitted:
            self.reading.limit_records(channel, recorded_bytes)
        connection = channel.connection
        if connection.meters:
            self.reading.limit_rates(channel, recorded_bytes)
        if connection.has_more_work or channel.unread:
            self.reading.queue_unfinished(channel)
        elif connection.state is ConnectionState.AUTHENTICATING or connection.deferred.is_full:
            channel.update_reading()
        if not self._scheduled:
            self.schedule()
        self._received_bytes += len(data)
        if self._received_bytes >= BURST_BYTES:
            self.committer.write_down()
            self._write_out()

    def close_for(self, channel: Channel, violation: Violation) -> None:
        """Close a connection for a reason outside MQTT, such as a ban or an invalid TLS record."""
        self.broker.end_for(channel.connection, violation, self._loop.time())
        self.schedule()

    def lose(self, channel: Channel) -> None:
        """Remove a lost connection. If it has unprocessed data, `FairReader` removes it later."""
        if channel.has_more_input() and channel.connection.is_open:
            channel.lost = True
            return
        connection = channel.connection
        self.channels.pop(connection, None)
        self.closing.note_gone()
        self.reading.forget(channel)
        self.authentications.forget(connection)
        self.authentications.proofs.forget(connection)
        self.broker.connection_lost(connection, CloseReason.NETWORK, self._loop.time())
        connection.take_outgoing()
        self.schedule()

    def set_writable(self, channel: Channel, *, writable: bool) -> None:
        """Report to the core that a socket's send buffer is full, or that it has space again."""
        self.broker.set_writable(channel.connection, writable, self._loop.time())
        self.schedule()

    def set_reading(self, connection: Connection, *, reading: bool) -> None:
        """Report to the core that reading from a connection was paused or resumed."""
        self.broker.set_reading(connection, reading, self._loop.time())

    def limits_changed(self, batch_limits: BatchLimits) -> None:
        """Apply batch limits after a reload. The caller has already set the core's limits."""
        self.batch_limits = self.committer.limits = batch_limits
        self.reading.uncommitted_bytes_max = batch_limits.max_uncommitted
        self.broker.limits_changed(self._loop.time())
        self.schedule()

    # -- the tick

    def schedule(self) -> None:
        """Schedule a tick after the current asyncio events, unless one is already scheduled."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._tick)

    def _batch_released(self) -> None:
        """Schedule a tick to send a committed batch's packets, unless the current tick does so."""
        if not self._committing or self.committer.wants_tick():
            self.schedule()

    def _tick(self) -> None:
        self._scheduled = False
        self.reading.tick_units = 0
        broker = self.broker
        if self.committer.failure is not None:
            return
        if self._pages.are_wanted():
            self._pages.load()
            if self._pages.are_wanted():
                self.schedule()
        for request in broker.effects.take_logins():
            self.authentications.begin(request)
        if broker.effects.resumed:
            for connection in broker.effects.take_resumed():
                self._read_on(connection)
        if broker.effects.system_subscriptions:
            self.answer_system_topics()
        # Packets that may be sent now do not wait until the next batch is durable. If they may
        # reveal new records, they wait only until the committer has written these records.
        if not broker.batch.lazy:
            self._write_out()
        self._committing = True
        self.committer.tick()
        self._committing = False
        if self.hooks is not None:
            self.hooks.release()
        self._write_out()
        self.committer.writer.note_end()
        self.reading.resume_overloaded()
        self._alarm.set(broker.next_due())

    def _write_out(self) -> None:
        self._received_bytes = 0
        for connection in self.broker.effects.take_writes():
            channel = self.channels.get(connection)
            if channel is not None:
                channel.write()

    def set_disk_full(self, full: bool) -> None:
        """Tell the core whether the disk is full. If so, data that needs disk space is rejected."""
        self.broker.set_disk_full(full)
        self.schedule()

    def _read_on(self, connection: Connection) -> None:
        """Resume reading from a connection, for example after a check of its credentials."""
        channel = self.channels.get(connection)
        if channel is not None:
            channel.update_reading()
            if channel.has_more_input():
                self.reading.queue_unfinished(channel)
        self.schedule()

    def uptime_seconds(self) -> float:
        """Return the seconds since the broker started, measured with the monotonic clock."""
        return self._loop.time() - self._started_at

    # -- upkeep and the end

    def upkeep(self) -> None:
        """Run the periodic work, such as checkpoints. Called once a second."""
        self._alarm.check()
        log_notices(self.broker.statistics, self._loop.time())
        self.authentications.tick()
        self._clock_watch.check_clock(self._loop.time() - self.committer.writer.sealed_at)
        self.committer.upkeep(self.batch_limits.max_journal)
        self.check_disk()
        self.schedule()

    async def stop(self) -> None:
        """Close all connections, commit all records and close the store."""
        committer = self.committer
        if committer.failure is None:
            now = self._loop.time()
            for connection in list(self.channels):
                self.broker.connection_lost(connection, CloseReason.SHUTDOWN, now)
            self.broker.stop(now)
        self._alarm.stop()
        self.authentications.stop()
        log_notices(self.broker.statistics, self._loop.time())
        await committer.drain()
        if committer.failure is None:
            self._tick()
            await self.closing.all_gone()
        for channel in list(self.channels.values()):
            channel.abort()
        is_clean = committer.failure is None and not committer.writer.is_unwritten
        self.store.close(clean=is_clean)
