"""The event loop's half of the broker: one turn after everything that happened.

A turn hands out what the core has to say, reads the pages it asked for, has credentials checked and
lets the committer decide about the next batch.
"""

import asyncio
import logging
import time

from gateway.access.authentication import Authenticator
from gateway.configuration.sections import Limits as BatchLimits
from gateway.core.broker import Broker
from gateway.core.delivering import PageRequest
from gateway.core.session import AUTHENTICATING, Connection
from gateway.core.violation import PROTOCOL_ERROR, Violation
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

BURST_BYTES = 1024 * 1024
"""Received in one turn before sockets are written to: what a crowd publishes at once must not pile
up in memory, once for each subscriber, before it shows who reads too slowly."""


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
        self.wall_clock = WallClock()
        self.failed = asyncio.Event()
        self.first_sequence = broker.recorder.next_sequence
        """The first event of this run."""
        self.committer = Committer(
            broker,
            store,
            recovered,
            batch_limits,
            spoken=self._batch_spoken,
            failed=self._fail,
        )
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self.system_topics: SystemTopics | None = None
        self.hooks: Hooks | None = None
        self._protocols: dict[Connection, MqttProtocol] = {}
        self._overloaded: set[MqttProtocol] = set()
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
        """A client sent bytes."""
        records = self.broker.recorder.records
        recorded_bytes = len(records)
        self.broker.receive(protocol.connection, data, self._loop.time())
        if protocol.connection.state == AUTHENTICATING:
            protocol.update_reading()
        if recorded_bytes < len(records) > self.batch_limits.max_uncommitted:
            # Who brings what needs no disk, QoS 0 or PINGREQ, is heard all the same.
            protocol.overloaded = True
            self._overloaded.add(protocol)
            protocol.update_reading()
        if not self._scheduled:
            self.schedule()
        self._received_bytes += len(data)
        if self._received_bytes >= BURST_BYTES:
            self._write_out()

    def violate(self, protocol: MqttProtocol, reason: str, detail: str) -> None:
        """What a client sent around its packets is wrong: end the connection."""
        violation = Violation(reason, PROTOCOL_ERROR, detail)
        self.broker.end_for(protocol.connection, violation, self._loop.time())
        self.schedule()

    def lose(self, protocol: MqttProtocol) -> None:
        """A connection is gone."""
        connection = protocol.connection
        self._protocols.pop(connection, None)
        self._overloaded.discard(protocol)
        self.authentications.forget(connection)
        self.broker.lose(connection, "network", self._loop.time())
        connection.take_outgoing()
        self.schedule()

    def set_writable(self, protocol: MqttProtocol, *, writable: bool) -> None:
        """A socket's buffer filled up or has room again."""
        self.broker.set_writable(protocol.connection, writable, self._loop.time())
        self.schedule()

    def set_heard(self, connection: Connection, *, heard: bool) -> None:
        """A socket is read from again, or not for now."""
        self.broker.set_heard(connection, heard, self._loop.time())

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
        broker.wall_time.time_ms = time.time_ns() // 1_000_000
        if self.committer.failure is not None:
            return
        self._load_pages()
        for request in broker.take_authentication_requests():
            self.authentications.begin(request)
        if broker.system_messages.requests and self.system_topics is not None:
            self.system_topics.answer()
        # What may be said already does not wait until the next batch is on its way.
        self._write_out()
        self._turning = True
        self.committer.turn()
        self._turning = False
        if self.hooks is not None:
            self.hooks.release()
        self._write_out()
        if self._overloaded and (
            len(broker.recorder.records) <= self.batch_limits.max_uncommitted // 2
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

    def _answered(self, connection: Connection) -> None:
        """Read on: while a client's credentials were being checked nothing more was taken."""
        protocol = self._protocols.get(connection)
        if protocol is not None:
            protocol.update_reading()
        self.schedule()

    def uptime_seconds(self) -> float:
        """Return for how long this broker has been running, by the monotonic clock."""
        return self._loop.time() - self._started_at

    # -- upkeep and the end

    def tick(self) -> None:
        """Once a second."""
        self._log_notices()
        step_ms = self.wall_clock.step_ms()
        if step_ms:
            logger.warning("the clock stepped by %.3f s", step_ms / 1000)
            self.broker.recorder.observed(None, "clock_stepped", "", str(step_ms))
        self.committer.tick(self.batch_limits.max_journal)
        self.schedule()

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
                self.broker.lose(connection, "shutdown", now)
            self.broker.stop(now, WallClock.time_ms())
        if self._timer is not None:
            self._timer.cancel()
        self.authentications.stop()
        self._log_notices()
        await self.committer.drain()
        if self.committer.failure is None:
            self._turn()
        for protocol in list(self._protocols.values()):
            protocol.transport.abort()
        self.store.close(clean=self.committer.failure is None)
