"""The event loop's half of the broker: one turn after everything that happened.

A turn hands out what the core has to say, reads the pages it asked for, checks passwords in threads
and lets the committer decide about the next batch.
"""

import asyncio
import logging
import time

from gateway.access.passwords import PasswordFile
from gateway.configuration.sections import Limits as BatchLimits
from gateway.core.broker import Broker
from gateway.core.connecting import AuthenticationRequest
from gateway.core.delivering import PageRequest
from gateway.core.session import AUTHENTICATING, Connection
from gateway.server.clock import WallClock
from gateway.server.committer import Committer, StoreFailed
from gateway.server.connections import MqttProtocol
from gateway.store.recovery import Recovered
from gateway.store.store import Store

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
"""Upkeep: checkpoints, exported blobs, the clock, the watchdog."""

NOTICES_PER_SECOND_MAX = 10
"""Lines about misbehaving clients: a flood of them must not fill the journal on the card."""

PASSWORD_CHECKS_MAX = 2
"""Passwords checked at a time: each takes a core and tens of MiB for as long as it lasts."""

PAGES_PER_TURN_MAX = 16
"""Pages of queued messages read from disk in one turn: some milliseconds."""


class Shell:
    """Connects sockets, the core and the store."""

    def __init__(
        self,
        broker: Broker,
        store: Store,
        recovered: Recovered,
        batch_limits: BatchLimits,
        passwords: PasswordFile | None,
    ) -> None:
        self.broker = broker
        self.limits = broker.limits
        self.store = store
        self.batch_limits = batch_limits
        self.passwords = passwords
        self.wall_clock = WallClock()
        self.failed = asyncio.Event()
        self.first_sequence = broker.recorder.next_sequence
        """The first event of this run."""
        self.committer = Committer(
            broker,
            store,
            recovered,
            batch_limits,
            spoken=self.schedule,
            failed=self._fail,
        )
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self._protocols: dict[Connection, MqttProtocol] = {}
        self._overloaded: set[MqttProtocol] = set()
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = float("inf")
        self._page_requests: list[PageRequest] = []
        self._checks: set[asyncio.Task[None]] = set()
        self._password_slots = asyncio.Semaphore(PASSWORD_CHECKS_MAX)

    # -- what happens

    def accept(self, protocol: MqttProtocol, address: str, *, anonymous: bool) -> Connection:
        """A client connected."""
        connection = self.broker.accept(address, anonymous, self._loop.time())
        self._protocols[connection] = protocol
        self.schedule()
        return connection

    def receive(self, protocol: MqttProtocol, data: bytes) -> None:
        """A client sent bytes."""
        self.broker.receive(protocol.connection, data, self._loop.time())
        if protocol.connection.state == AUTHENTICATING:
            protocol.update_reading()
        if len(self.broker.recorder.records) > self.batch_limits.max_uncommitted:
            protocol.overloaded = True
            self._overloaded.add(protocol)
            protocol.update_reading()
        if not self._scheduled:
            self.schedule()

    def lose(self, protocol: MqttProtocol) -> None:
        """A connection is gone."""
        connection = protocol.connection
        self._protocols.pop(connection, None)
        self._overloaded.discard(protocol)
        self.broker.lose(connection, "network", self._loop.time())
        connection.outgoing = []
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

    def _turn(self) -> None:
        self._scheduled = False
        broker = self.broker
        broker.connecting.time_ms = time.time_ns() // 1_000_000
        if self.committer.failure is not None:
            return
        self._load_pages()
        for request in broker.take_authentication_requests():
            self._check_password(request)
        self.committer.turn()
        for connection in broker.take_dirty():
            protocol = self._protocols.get(connection)
            if protocol is not None:
                protocol.write()
        if self._overloaded and (
            len(broker.recorder.records) <= self.batch_limits.max_uncommitted // 2
        ):
            self._resume_overloaded()
        due = broker.next_due()
        if due is not None and due < self._timer_due:
            self._set_timer(due)

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
            contents, deliveries = self.store.load_page(
                request.session, request.first_position, request.count, request.contents
            )
            self.broker.page_loaded(request, contents, deliveries, self._loop.time())
        del self._page_requests[:PAGES_PER_TURN_MAX]
        if self._page_requests or self.broker.deliverer.page_requests:
            self.schedule()

    def _check_password(self, request: AuthenticationRequest) -> None:
        task = self._loop.create_task(self._authenticate(request))
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _authenticate(self, request: AuthenticationRequest) -> None:
        # Argon2 costs tens of milliseconds on purpose: not on the loop's thread, and not for a
        # client that has given up while it stood in the queue.
        passwords = self.passwords
        async with self._password_slots:
            if request.connection.state != AUTHENTICATING:
                return
            accepted = passwords is not None and await asyncio.to_thread(
                passwords.verify, request.username, request.password
            )
        self.broker.authenticated(request.connection, accepted, self._loop.time())
        protocol = self._protocols.get(request.connection)
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
        for task in list(self._checks):
            task.cancel()
        self._log_notices()
        await self.committer.drain()
        if self.committer.failure is None:
            self._turn()
        for protocol in list(self._protocols.values()):
            protocol.transport.abort()
        self.store.close(clean=self.committer.failure is None)
