"""The honest clients of the soak, all of them known users.

They are publishers, a subscriber that stays, one that leaves and returns, clients that log in
repeatedly, and a visitor of the page.
"""

import asyncio
import contextlib
import ssl
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Final

from tests.instruments.benchmarks.hostile.attack import Target
from tests.instruments.benchmarks.hostile.honest_clients import (
    DRAIN_SECONDS,
    HonestPublisher,
    HonestSubscriber,
    Ledger,
    Way,
)
from tests.instruments.benchmarks.hostile.site import HONEST, PASSWORD, Site
from tests.peers.mqtt_bytes import connect

QOS: Final = (0, 1, 2)
PATIENCE_SECONDS: Final = 20.0
"""Timeout for the response to a login or a visit."""
LOGIN_SECONDS: Final = 1.0
VISIT_SECONDS: Final = 0.5
STAY_SECONDS: Final = 6.0
AWAY_SECONDS: Final = 3.0

Latencies = dict[str, list[float]]
"""Latencies in seconds, by the name of their series."""


class SoakLedger(Ledger):
    """A ledger that stores each latency with its due time, because windows are chosen later."""

    def __init__(self, due: dict[tuple[int, int], float] | None = None) -> None:
        super().__init__(due)
        self.timed: dict[str, list[tuple[float, float]]] = {}

    def note(self, name: str, key: tuple[int, int]) -> None:
        """Record the due time and the latency of an arrival."""
        due = self.due[key]
        self.timed.setdefault(name, []).append((due, time.monotonic() - due))

    def between(self, begin: float, end: float) -> Latencies:
        """Return the latencies of messages that were due between two times."""
        return {
            name: [late for due, late in timed if begin <= due < end]
            for name, timed in sorted(self.timed.items())
        }


class Returning(HonestSubscriber):
    """A subscriber that leaves and returns to its persistent session."""

    async def come_and_go(self) -> None:
        """Leave for some seconds, again and again."""
        while True:
            await asyncio.sleep(STAY_SECONDS)
            self.leave()
            self.ledger.departures += 1
            await asyncio.sleep(AWAY_SECONDS)
            await self.come()

    async def come(self) -> None:
        """Reconnect."""
        self._leaving = False
        await self.open()


class Answers:
    """Results of repeated requests: their latencies, and counts of their failures."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.wrong: Counter[str] = Counter()

    async def ask(self, question: Callable[[], Coroutine[Any, Any, str]]) -> None:
        """Send one request. `question` returns the failure in words, or an empty string."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                problem = await question()
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            problem = type(error).__name__
        if problem:
            self.wrong[problem] += 1
        else:
            self.seconds.append(time.monotonic() - began)


class Crowd:
    """All honest clients on one broker."""

    def __init__(self, target: Target, site: Site, rate: float, is_running: Callable[[], bool]):
        self._target = target
        self._page_token = site.page_token
        self._rate = rate
        self._is_running = is_running
        tls = ssl.create_default_context(cafile=site.certificates.ca)
        plain = Way(target.password_port, HONEST, PASSWORD)
        encrypted = Way(target.tls_port, HONEST, PASSWORD, tls)
        self.ledger = SoakLedger()
        self.returning_ledger = SoakLedger(self.ledger.due)
        self._subscriber = HonestSubscriber(encrypted, self.ledger)
        self._returning = Returning(plain, self.returning_ledger, "honest-returning")
        ways = (plain, encrypted, plain)
        self._publishers = [
            HonestPublisher(way, qos, self.ledger) for way, qos in zip(ways, QOS, strict=True)
        ]
        self.logins, self.visits = Answers(), Answers()
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Connect, subscribe, and start all clients."""
        for subscriber in (self._subscriber, self._returning):
            await subscriber.open()
            await subscriber.subscribe()
        for publisher in self._publishers:
            await publisher.open()
        works = (
            self._publish(),
            self._returning.come_and_go(),
            self._repeat(self.logins, self._log_in, LOGIN_SECONDS),
            self._repeat(self.visits, self._visit, VISIT_SECONDS),
        )
        self._tasks = [asyncio.create_task(work) for work in works]

    async def end(self) -> None:
        """Stop publishing, and wait until everything has arrived, or for DRAIN_SECONDS.

        Raises the exception that ended a client's task before.
        """
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._returning.transport is None:
            await self._returning.come()
        deadline = time.monotonic() + DRAIN_SECONDS
        # Five clients wait for different events, so none of them knows when all are done.
        while time.monotonic() < deadline and not self._is_done() and self._is_running():  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    def leave(self) -> None:
        """Cut all connections for good."""
        for task in self._tasks:
            task.cancel()
        for client in (self._subscriber, self._returning, *self._publishers):
            client.leave()

    def _is_done(self) -> bool:
        ledgers = (self.ledger, self.returning_ledger)
        idle = all(publisher.is_idle() for publisher in self._publishers)
        return idle and not any(each.conservation().lost for each in ledgers)

    async def _publish(self) -> None:
        began, sent = time.monotonic(), 0
        while True:
            # The publishers alternate, so that none profits from another's commit.
            for place, publisher in enumerate(self._publishers):
                due = began + (sent + place / len(self._publishers)) / self._rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                publisher.send(due)
            sent += 1

    async def _repeat(
        self, answers: Answers, question: Callable[[], Coroutine[Any, Any, str]], pause: float
    ) -> None:
        while True:
            await asyncio.sleep(pause)
            await answers.ask(question)

    async def _log_in(self) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._target.password_port)
        try:
            name = f"honest-{len(self.logins.seconds)}"
            writer.write(connect(name, username=HONEST, password=PASSWORD))
            code = (await reader.readexactly(4))[3]
        finally:
            writer.transport.abort()
        return f"CONNACK {code}" if code else ""

    async def _visit(self) -> str:
        port = self._target.page_port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            lines = ["GET /api/v1/status HTTP/1.1", f"Host: 127.0.0.1:{port}"]
            lines += [f"Authorization: Bearer {self._page_token}", "Connection: close", "", ""]
            writer.write("\r\n".join(lines).encode())
            status = (await reader.readline())[9:12].decode()
            if status == "200":
                return ""
            body = (await reader.read()).rpartition(b"\r\n\r\n")[2]
        finally:
            writer.transport.abort()
        return f"HTTP {status}: {body.decode()}"
