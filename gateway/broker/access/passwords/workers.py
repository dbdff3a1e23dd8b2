"""Pool of password worker processes, started on demand and restarted after a failure.

The workers run at the lowest priority, so that password guessing does not delay other work. If
other processes leave them too little CPU time, workers with normal priority are used for a while
(docs/decisions/0154). A worker that has been idle for a while is stopped.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from gateway.broker.access.passwords.worker import LOW_PRIORITY, PasswordHash, request_of

CHECK_SECONDS_MAX: Final = 30.0
"""Timeout of one password check, after which the worker is killed.

The costliest hash that a file may contain takes a Raspberry Pi several seconds.
"""

CHECK_SECONDS: Final = 0.2
"""Seconds between two checks of a low-priority worker's CPU time.

If the CPU is busy, a client's login takes this much longer.
"""

SHARE_LEAST: Final = 0.1
"""Smallest fraction of a core that a low-priority worker must get.

With less, the worker is killed, and a worker with normal priority repeats the check.
"""

BUSY_SECONDS: Final = 60.0
"""Seconds for which workers run with normal priority after a low-priority worker was starved.

Trying a low-priority worker again may delay a client, so it must be rare."""

START_SECONDS: Final = 15.0
"""Seconds after the broker's start for which workers run with normal priority.

When a machine boots, other programs start at this time and would starve a low-priority worker.
"""

IDLE_SECONDS_MAX: Final = 60.0
"""Seconds without a check after which a worker is stopped to free its memory, about 10 MB.

The next login then waits until a new worker has started, which takes 0.2 s on amd64.
"""

ATTEMPTS_MAX: Final = 2
"""Workers that are tried for one check, at most: the first may have been killed by accident."""

# -P: ignore a directory called `gateway` in the caller's working directory.
COMMAND: Final = (sys.executable, "-P", "-m", "gateway.broker.access.passwords.worker")

LARGE_BLOCK_BYTES: Final = 8 << 20
"""Smallest memory block that a worker returns to the system when it frees the block.

Without this limit, glibc would keep the 19 MiB block of a check (mallopt(3)).
"""

ENVIRONMENT: Final = {"MALLOC_MMAP_THRESHOLD_": str(LARGE_BLOCK_BYTES)} | {
    name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ
}
"""Environment of a worker: glibc's threshold for large blocks, and PYTHONPATH if it is set."""


class WorkerFailed(Exception):
    """Error raised if a password could not be checked.

    No worker process could be started, or the workers exited or did not respond.
    """


class _Starved(Exception):
    """Error raised if a low-priority worker gets almost no CPU time."""


# clock_getcpuclockid(3): a process's clock ID is built from its process ID and this constant.
_CPUCLOCK_SCHED: Final = 2


class PasswordWorkers:
    """Pool of worker processes. Each password is checked by an idle worker."""

    def __init__(self) -> None:
        self.failed_workers = 0
        """Number of workers since the broker's start that exited or did not respond."""
        self._busy_until = float("-inf")
        """Time on the event loop's clock until which workers run with normal priority."""
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()

    def prepare(self) -> None:
        """Start a worker now, so that the first login does not wait for a worker to start.

        During the next START_SECONDS, workers run with normal priority. If no process can be
        started now, the first login tries again.
        """
        self._busy_until = asyncio.get_running_loop().time() + START_SECONDS
        with suppress(OSError):
            self._rest(self._worker(has_low_priority=False))

    async def matches(self, hashes: Sequence[PasswordHash], password: bytes) -> list[bool]:
        """Check a password against several hashes.

        Return one Boolean per hash: True if the password matches this hash. Each concurrent check
        runs in its own process. The caller limits the number of concurrent checks.

        Raises:
            WorkerFailed: the password could not be checked.
        """
        request = request_of(hashes, password)
        for _ in range(ATTEMPTS_MAX):
            try:
                answer = await self._checked(request, len(hashes))
            except OSError as error:
                raise WorkerFailed(f"no process can be started: {error.strerror}") from error
            if answer is not None:
                return [bool(each) for each in answer]
        raise WorkerFailed(f"{ATTEMPTS_MAX} processes have ended while they checked it")

    def close(self) -> None:
        """Stop all worker processes."""
        while self._all:
            self._all.pop().end()
        self._idle.clear()

    @property
    def process_ids(self) -> list[int]:
        """Process IDs of the running workers."""
        return [worker.process.pid for worker in self._all]

    async def _checked(self, request: bytes, count: int) -> bytes | None:
        """Return a worker's response to a request, or None if the worker failed.

        A low-priority worker is used first. If it gets too little CPU time, a worker with normal
        priority repeats the check. Further checks then use normal priority for BUSY_SECONDS.
        `count` is the number of hashes in the request. Raises OSError if no process can be started.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CHECK_SECONDS_MAX):
                if loop.time() >= self._busy_until:
                    try:
                        return await self._unless_starved(request, count)
                    except _Starved:
                        self._busy_until = loop.time() + BUSY_SECONDS
                return await self._asked(self._worker(has_low_priority=False), request, count)
        except TimeoutError:
            self.failed_workers += 1
            return None

    async def _unless_starved(self, request: bytes, count: int) -> bytes | None:
        """Return the response of a low-priority worker, or None if the worker failed.

        Raises _Starved if other processes leave the worker too little CPU time.
        """
        worker = self._worker(has_low_priority=True)
        answer = asyncio.ensure_future(self._asked(worker, request, count))
        try:
            while True:
                before = worker.processor_seconds()
                await asyncio.wait((answer,), timeout=CHECK_SECONDS)
                if answer.done():
                    return answer.result()
                if worker.processor_seconds() - before < SHARE_LEAST * CHECK_SECONDS:
                    raise _Starved
        finally:
            answer.cancel()
            # The worker is killed before another one takes its place.
            await asyncio.wait((answer,))

    def _worker(self, *, has_low_priority: bool) -> "_Worker":
        """Return an idle worker, or start a new one.

        Raises OSError if no process can be started.
        """
        while self._idle:
            worker = self._idle.pop()
            worker.cancel_timer()
            if worker.has_low_priority is has_low_priority:
                return worker
            self._end(worker)
        worker = _Worker(has_low_priority=has_low_priority)
        self._all.add(worker)
        return worker

    async def _asked(self, worker: "_Worker", request: bytes, count: int) -> bytes | None:
        """Send a request to a worker and return the response, or None if the worker exited.

        A worker that does not respond is killed and removed from the pool. `count` is the number of
        hashes in the request.
        """
        answer = None
        try:
            answer = await worker.ask(request, count)
        except ConnectionError:
            self.failed_workers += 1
        finally:
            # Also if the caller is cancelled. Otherwise the next caller would read this response.
            if answer is None:
                self._end(worker)
        if answer is not None and worker in self._all:
            self._rest(worker)
        return answer

    def _rest(self, worker: "_Worker") -> None:
        """Make a worker available for the next check, and stop it if it is idle for too long."""
        loop = asyncio.get_running_loop()
        worker.idle_timer = loop.call_later(IDLE_SECONDS_MAX, self._stop_idle, worker)
        self._idle.append(worker)

    def _stop_idle(self, worker: "_Worker") -> None:
        self._idle.remove(worker)
        self._end(worker)

    def _end(self, worker: "_Worker") -> None:
        if worker in self._all:
            self._all.discard(worker)
            worker.end()


class _Worker:
    """A worker process, and the socket through which the broker communicates with it."""

    def __init__(self, *, has_low_priority: bool) -> None:
        """Start the process. Raises OSError if this fails."""
        self.has_low_priority = has_low_priority
        self.idle_timer: asyncio.TimerHandle | None = None
        """Timer that stops the worker, while the worker is idle."""
        command = (*COMMAND, LOW_PRIORITY) if has_low_priority else COMMAND
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            try:
                pipe = theirs.fileno()
                self.process = subprocess.Popen(
                    command, stdin=pipe, stdout=pipe, cwd="/", env=ENVIRONMENT
                )
            except OSError:
                self._socket.close()
                raise

    def processor_seconds(self) -> float:
        """Return the process's CPU time in seconds, or infinity if the process has exited."""
        try:
            return time.clock_gettime(~self.process.pid << 3 | _CPUCLOCK_SCHED)
        except OSError:
            return float("inf")

    async def ask(self, request: bytes, count: int) -> bytes:
        """Send a request, and return the `count` bytes of the response.

        Raises ConnectionError if the worker exits.
        """
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, request)
        answer = b""
        while len(answer) < count:
            part = await loop.sock_recv(self._socket, count - len(answer))
            if not part:
                raise ConnectionResetError("the process for passwords has ended")
            answer += part
        return answer

    def cancel_timer(self) -> None:
        """Cancel the timer that would stop the worker, because the worker is no longer idle."""
        if self.idle_timer is not None:
            self.idle_timer.cancel()
            self.idle_timer = None

    def end(self) -> None:
        """Kill the worker process and wait until the process has exited."""
        self.cancel_timer()
        self._socket.close()
        self.process.kill()
        self.process.wait()
