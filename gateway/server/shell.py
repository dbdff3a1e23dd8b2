"""The event loop's half of the broker: one turn after everything that happened.

A turn hands out what the core has to say, reads the pages it asked for, has credentials checked and
lets the committer decide about the next batch.
"""

import asyncio
import logging
from typing import Any, Protocol

from gateway.access.authentication import Authenticator
from gateway.configuration.sections import Limits as BatchLimits
from gateway.core.broker import Broker
from gateway.core.limits import PUT_OFF_BYTES_MAX
from gateway.core.records.kinds import CloseReason, Observation
from gateway.core.rules.deliver import PageRequest
from gateway.core.sessions.connection import Connection, ConnectionState
from gateway.core.violation import PROTOCOL_ERROR, Violation
from gateway.core.work import SLICE_UNITS
from gateway.hooks.dispatch import Hooks
from gateway.server.authentication import Authentications
from gateway.server.clock import WallClock
from gateway.server.committer import Committer, StoreFailed
from gateway.server.connections import Door, MqttProtocol
from gateway.server.system_topics import SystemTopics
from gateway.store.pages import PAGE_BYTES_MAX
from gateway.store.recovery import Recovered
from gateway.store.store import Store

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
"""Upkeep: checkpoints, exported blobs, the clock, the watchdog."""

NOTICES_PER_SECOND_MAX = 10
"""Lines about misbehaving clients: a flood of them must not fill the journal on the card."""

PAGES_PER_TURN_MAX = 16
"""Pages of queued messages read from disk in one turn: some milliseconds."""

CLOCK_READ_SECONDS = 3_600.0
"""The time is written down at least so often. A power cut takes back what was not, and where the
clock is never synchronised deadlines wait for so long again."""

PIECE_BYTES = 16 * 1024
"""Read bytes that are decoded at once: 8,000 of the shortest packets, two milliseconds."""

UNREAD_BYTES_MAX = 32 * 1024 * 1024
"""Read from all sockets and waiting for a slice: 128 reads of the largest size. What comes beyond
is decoded at once; then the core has it as packets, and its own bounds hold."""

BURST_BYTES = 1024 * 1024
"""Received in one turn before sockets are written to: what a crowd publishes at once must not pile
up in memory, once for each subscriber, before it shows who reads too slowly."""


class Housekeeping(Protocol):
    """What looks after the room on the disk."""

    def tick(self) -> None:
        """Once a second."""

    def status(self) -> dict[str, Any]:
        """What the status tells of it."""


class Shell:
    """Connects sockets, the core and the store."""

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
        self.authentications = Authentications(broker, authenticator, self._answered)
        time = recovered.state.time
        self.wall_clock = WallClock(time.wall_ms, time.clock)
        self._clock_told = self.wall_clock.quality
        self.failed = asyncio.Event()
        self.first_sequence = broker.recorder.next_sequence
        """The first event of this run."""
        self.committer = Committer(
            broker,
            store,
            recovered,
            batch_limits,
            self.wall_clock,
            spoken=self._batch_spoken,
            written=self._write_out,
            failed=self._fail,
            full=self._disk_full,
        )
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self.system_topics: SystemTopics | None = None
        self.hooks: Hooks | None = None
        self.housekeeping: Housekeeping | None = None
        self._protocols: dict[Connection, MqttProtocol] = {}
        self._overloaded: set[MqttProtocol] = set()
        self._behind: dict[MqttProtocol, None] = {}
        """Clients that sent more than one slice of work, in the order of their turns."""
        self._catching_up = False
        self._unread_bytes = 0
        """Of all clients that are behind."""
        self._work = broker.state.work
        self._scheduled = False
        self._turning = False
        """The committer has its turn."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = float("inf")
        self._page_requests: list[PageRequest] = []
        self._received_bytes = 0
        """Since everybody was last handed what was there for him."""

    # -- what happens

    def accept(self, protocol: MqttProtocol, address: str, door: Door) -> Connection:
        """A client connected."""
        connection = self.broker.accept(address, door.anonymous, self._loop.time(), door.share)
        self._protocols[connection] = protocol
        self.schedule()
        return connection

    def receive(self, protocol: MqttProtocol, data: bytes) -> None:
        """A client sent bytes: what is too much work for one slice goes on in `_catch_up`."""
        if protocol.unread:
            protocol.unread = protocol.unread[protocol.unread_from :] + data
            protocol.unread_from = 0
            return
        recorder = self.broker.recorder
        recorded_bytes = recorder.pending_bytes()
        self._work.spent = 0
        if len(data) <= PIECE_BYTES:
            self.broker.receive(protocol.connection, data, self._loop.time())
        else:
            protocol.unread = data
            self._read_on(protocol)
        if recorder.pending_bytes() > self.batch_limits.max_uncommitted:
            self._look_at_records(protocol, recorded_bytes)
        connection = protocol.connection
        if connection.behind or protocol.unread:
            self._fall_behind(protocol)
        elif connection.state is ConnectionState.AUTHENTICATING:
            protocol.update_reading()
        if self.limits.disk_full and connection.put_off.bytes_count > PUT_OFF_BYTES_MAX:
            protocol.update_reading()
        if not self._scheduled:
            self.schedule()
        self._received_bytes += len(data)
        if self._received_bytes >= BURST_BYTES:
            self.committer.write_down()
            self._write_out()

    def _look_at_records(self, protocol: MqttProtocol, recorded_bytes: int) -> None:
        if (
            recorded_bytes
            < self.broker.recorder.pending_bytes()
            > self.batch_limits.max_uncommitted
        ):
            # Who brings what needs no disk, QoS 0 or PINGREQ, is heard all the same.
            protocol.overloaded = True
            self._overloaded.add(protocol)
            protocol.update_reading()

    def _read_on(self, protocol: MqttProtocol) -> None:
        """Let the core have what was read, in pieces, until this slice of work is spent."""
        connection, data, position = protocol.connection, protocol.unread, protocol.unread_from
        self._unread_bytes -= protocol.unread_counted
        # Where too many have their turn still to come, memory counts for more than time.
        at_once = self._unread_bytes + len(data) > UNREAD_BYTES_MAX
        while position < len(data) and (
            at_once or not (connection.behind or self._work.spent > SLICE_UNITS)
        ):
            piece = data[position : position + PIECE_BYTES]
            position += len(piece)
            self.broker.receive(connection, piece, self._loop.time())
        if position >= len(data) or not connection.is_open:
            data, position = b"", 0
        protocol.unread, protocol.unread_from = data, position
        protocol.unread_counted = len(data)
        self._unread_bytes += protocol.unread_counted

    def _fall_behind(self, protocol: MqttProtocol) -> None:
        """Others first: what is left of a client's packets has its turn after theirs."""
        if protocol not in self._behind:
            protocol.update_reading()
            if protocol.overloaded:
                return  # it goes on when there is room for what it brings
            self._behind[protocol] = None
        if not self._catching_up:
            self._catching_up = True
            self._loop.call_soon(self._catch_up)

    def _catch_up(self) -> None:
        """Give the one that has waited longest its next slice."""
        self._catching_up = False
        if not self._behind or self.committer.failure is not None:
            return
        protocol = next(iter(self._behind))
        del self._behind[protocol]
        self._work.spent = 0
        recorded_bytes = self.broker.recorder.pending_bytes()
        if protocol.connection.behind:
            self.broker.go_on(protocol.connection, self._loop.time())
        if protocol.unread and not protocol.connection.behind:
            self._read_on(protocol)
        self._look_at_records(protocol, recorded_bytes)
        if protocol.is_behind():
            self._fall_behind(protocol)
        elif protocol.lost:
            self.lose(protocol)
        else:
            protocol.update_reading()
        if self._behind:
            self._fall_behind(next(iter(self._behind)))
        self.schedule()

    def violate(self, protocol: MqttProtocol, reason: str, detail: str) -> None:
        """What a client sent around its packets is wrong: end the connection."""
        violation = Violation(reason, PROTOCOL_ERROR, detail)
        self.broker.end_for(protocol.connection, violation, self._loop.time())
        self.schedule()

    def lose(self, protocol: MqttProtocol) -> None:
        """A connection is gone: what had come before is handled first, a DISCONNECT perhaps."""
        if protocol.is_behind() and protocol.connection.is_open:
            protocol.lost = True
            return
        connection = protocol.connection
        self._protocols.pop(connection, None)
        self._overloaded.discard(protocol)
        self._behind.pop(protocol, None)
        self._unread_bytes -= protocol.unread_counted
        protocol.unread_counted = 0
        self.authentications.forget(connection)
        self.broker.lose(connection, CloseReason.NETWORK, self._loop.time())
        connection.take_outgoing()
        self.schedule()

    def set_writable(self, protocol: MqttProtocol, *, writable: bool) -> None:
        """A socket's buffer filled up or has room again."""
        self.broker.set_writable(protocol.connection, writable, self._loop.time())
        self.schedule()

    def set_heard(self, connection: Connection, *, heard: bool) -> None:
        """A socket is read from again, or not for now."""
        self.broker.set_heard(connection, heard, self._loop.time())

    def limits_changed(self) -> None:
        """The configuration was read again."""
        self.broker.limits_changed(self._loop.time())
        self.schedule()

    # -- the turn

    def schedule(self) -> None:
        """Have a turn as soon as the loop has handed out what it has already."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _batch_spoken(self) -> None:
        """A batch may be told. Within a turn that is what the turn does next."""
        if not self._turning or self.committer.wants_turn():
            self.schedule()

    def _turn(self) -> None:
        self._scheduled = False
        broker = self.broker
        if self.committer.failure is not None:
            return
        if self._page_requests or broker.deliverer.page_requests:
            self._load_pages()
        for request in broker.take_authentication_requests():
            self.authentications.begin(request)
        if broker.system_messages.requests and self.system_topics is not None:
            self.system_topics.answer()
        # What may be said already does not wait until the next batch is durable. It waits until
        # what it may tell of is written: the committer calls `_write_out` then.
        if not broker.recorder.lazy:
            self._write_out()
        self._turning = True
        self.committer.turn()
        self._turning = False
        if self.hooks is not None:
            self.hooks.release()
        self._write_out()
        if self._overloaded and (
            broker.recorder.pending_bytes() <= self.batch_limits.max_uncommitted // 2
        ):
            self._resume_overloaded()
        due = broker.next_due()
        if due is not None and due < self._timer_due:
            self._set_timer(due)

    def _write_out(self) -> None:
        self._received_bytes = 0
        for connection in self.broker.take_dirty():
            protocol = self._protocols.get(connection)
            if protocol is not None:
                protocol.write()

    def _resume_overloaded(self) -> None:
        waiting = self._overloaded
        self._overloaded = set()
        for protocol in waiting:
            protocol.overloaded = False
            protocol.update_reading()
            if protocol.is_behind():
                self._fall_behind(protocol)

    def _set_timer(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._loop.call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._timer_due = float("inf")
        self.broker.wake(self._loop.time())
        self.schedule()

    def _load_pages(self) -> None:
        self._page_requests.extend(self.broker.take_page_requests())
        for request in self._page_requests[:PAGES_PER_TURN_MAX]:
            contents, deliveries, request.count = self.store.load_page(
                request.session,
                request.first_position,
                request.count,
                request.contents,
                PAGE_BYTES_MAX,
            )
            self.broker.page_loaded(request, contents, deliveries, self._loop.time())
        del self._page_requests[:PAGES_PER_TURN_MAX]
        if self._page_requests or self.broker.deliverer.page_requests:
            self.schedule()

    def _disk_full(self) -> None:
        """A batch waits for room."""
        if self.housekeeping is not None:
            self.housekeeping.tick()

    def set_disk_full(self, full: bool) -> None:
        """Take nothing new that needs the disk, or take it again."""
        for connection in self.broker.set_disk_full(full, self._loop.time()):
            protocol = self._protocols.get(connection)
            if protocol is not None:
                protocol.update_reading()
        self.schedule()

    def _answered(self, connection: Connection) -> None:
        """Read on: while a client's credentials were being checked nothing more was taken."""
        protocol = self._protocols.get(connection)
        if protocol is not None:
            protocol.update_reading()
            if protocol.is_behind():
                self._fall_behind(protocol)
        self.schedule()

    def uptime_seconds(self) -> float:
        """Return for how long this broker has been running, by the monotonic clock."""
        return self._loop.time() - self._started_at

    def wall_ms_at(self, when: float) -> int:
        """Return the wall time of a moment of the loop's clock, as it is known now."""
        return self.wall_clock.time_ms() - int((self._loop.time() - when) * 1000)

    # -- upkeep and the end

    def tick(self) -> None:
        """Once a second."""
        self._log_notices()
        self._watch_clock()
        self.committer.tick(self.batch_limits.max_journal)
        if self.housekeeping is not None:
            self.housekeeping.tick()
        self.schedule()

    def _watch_clock(self) -> None:
        recorder = self.broker.recorder
        quality = self.wall_clock.look()
        step_ms = self.wall_clock.step_ms()
        if step_ms:
            logger.warning(
                "the clock stepped by %.3f s (%s); no deadline moves with it",
                step_ms / 1000,
                quality.word,
            )
            recorder.observed(None, Observation.CLOCK_STEPPED, "", str(step_ms))
        if quality != self._clock_told:
            logger.info("the clock is %s", quality.word)
        idle_seconds = self._loop.time() - self.committer.sealed_at
        if quality != self._clock_told or idle_seconds >= CLOCK_READ_SECONDS:
            recorder.observed(None, Observation.CLOCK_READ, "", quality.word)
        self._clock_told = quality

    def _log_notices(self) -> None:
        statistics = self.broker.statistics
        notices, left_out = statistics.notices, statistics.notices_left_out
        statistics.notices, statistics.notices_left_out = [], 0
        for sentence, client_id in notices[:NOTICES_PER_SECOND_MAX]:
            # Under systemd a field: journalctl CLIENT_ID=...
            logger.warning("%s", sentence, extra={"CLIENT_ID": client_id} if client_id else None)
        left_out += max(0, len(notices) - NOTICES_PER_SECOND_MAX)
        if left_out:
            logger.warning("%d more such events in this second; the counters have them", left_out)

    def _fail(self, _: StoreFailed) -> None:
        self.failed.set()

    async def stop(self) -> None:
        """End all connections, write everything down, close the store."""
        if self.committer.failure is None:
            now = self._loop.time()
            for connection in list(self._protocols):
                self.broker.lose(connection, CloseReason.SHUTDOWN, now)
            self.broker.stop(now)
        if self._timer is not None:
            self._timer.cancel()
        self.authentications.stop()
        self._log_notices()
        await self.committer.drain()
        if self.committer.failure is None:
            self._turn()
        for protocol in list(self._protocols.values()):
            protocol.transport.abort()
        committer = self.committer
        self.store.close(clean=committer.failure is None and not committer.is_unwritten)
