"""The event loop of the load generator. It waits for sockets, reads from them, and publishes.

Sockets are read one after another into a shared buffer. Until the next message is due, the loop
sleeps in select(2), whose timeout has a resolution of microseconds. The timeout of epoll only has a
resolution of milliseconds. With `spin`, the loop never sleeps.
"""

import ctypes
import select
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

from gateway.tools.bench.clients import BURST_BYTES_MAX
from gateway.tools.bench.connection import NOT_NOW, BenchFailed, Client
from gateway.tools.bench.publisher import Publisher

IDLE_SECONDS: Final = 0.1
"""Maximum time of a sleep, so that the caller can check the clock at least this often."""

TIMER_SLACK_NANOSECONDS: Final = 1_000
"""Timer slack of the process. By default Linux wakes sleepers up to 50 µs late, which would count
as latency."""

PARTIAL_BYTES_MAX: Final = 64 * 1024
"""Maximum bytes of a packet other than our own messages, such as a CONNACK with many properties."""

# prctl(2)
_PR_SET_TIMERSLACK: Final = 29


class Loop:
    """The event loop for all clients of a load generator run.

    Create the loop before the clients connect, so that the loop's file descriptor is low. select(2)
    does not accept high descriptors.
    """

    def __init__(self, *, spin: bool = False) -> None:
        self._spin = spin
        self._poller = select.epoll()
        self._clients: dict[int, Client] = {}
        self._publishers: list[Publisher] = []
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)
        self._is_scheduled = False
        self._row_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._poller.close()

    def add(self, clients: Iterable[Client]) -> None:
        """Add clients to the loop. They must already be connected."""
        for client in clients:
            self._clients[client.connection.fileno()] = client
            self._poller.register(client.connection.fileno(), select.EPOLLIN)
            if isinstance(client, Publisher):
                self._publishers.append(client)
                self._row_bytes = max(self._row_bytes, client.frames.row_bytes)
        self._buffer = bytearray(BURST_BYTES_MAX + self._row_bytes + PARTIAL_BYTES_MAX)
        self._view = memoryview(self._buffer)

    def begin(self) -> None:
        """Start publishing. The schedules and limits of the publishers must already be set."""
        self._is_scheduled = any(publisher.schedule is not None for publisher in self._publishers)
        if self._is_scheduled and sys.platform.startswith("linux"):
            ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, TIMER_SLACK_NANOSECONDS)
        self._pump()

    def tick(self) -> None:
        """Wait for sockets or the next due message, read received bytes, and send due messages."""
        for descriptor, event in self._poller.poll(self._wait()):
            client = self._clients[descriptor]
            if event & select.EPOLLOUT:
                client.flush()
            if event & ~select.EPOLLOUT:
                self._read(client)
            self._watch(client)
        self._pump()

    def _wait(self) -> float:
        """Wait if necessary, and return the timeout for the next epoll call in seconds.

        If messages are scheduled, wait until the next one is due or a socket is readable, and
        return 0. Otherwise do not wait, but return a longer timeout, so that epoll waits for the
        sockets. With `spin`, return 0 without waiting.
        """
        if self._spin:
            return 0
        if not self._is_scheduled:
            return IDLE_SECONDS
        due = min(publisher.due_seconds() for publisher in self._publishers)
        wait = min(due - time.perf_counter(), IDLE_SECONDS)
        if wait > 0:
            select.select([self._poller], [], [], wait)
        return 0

    def _read(self, client: Client) -> None:
        held = len(client.partial)
        if held:
            self._view[:held] = client.partial
        try:
            count = client.connection.recv_into(self._view[held:], BURST_BYTES_MAX)
        except NOT_NOW:
            return
        except ConnectionError:
            count = 0
        if count == 0:
            raise BenchFailed(f"{client.client_id}: the broker closed the connection")
        end = held + count
        done = client.receive(self._buffer, end, time.perf_counter())
        if held or done < end:
            client.partial = self._buffer[done:end]
        if len(client.partial) > len(self._buffer) - BURST_BYTES_MAX:
            raise BenchFailed(
                f"{client.client_id}: the broker sent a packet of more than "
                f"{len(client.partial)} bytes, which is none of ours"
            )

    def _watch(self, client: Client) -> None:
        """Watch a client's socket for writability only while the client has unsent bytes."""
        waits = bool(client.unsent)
        if waits != client.is_watched:
            client.is_watched = waits
            events = select.EPOLLIN | (select.EPOLLOUT if waits else 0)
            self._poller.modify(client.connection.fileno(), events)

    def _pump(self) -> None:
        now = time.perf_counter()
        for publisher in self._publishers:
            if publisher.pump(now):
                self._watch(publisher)
