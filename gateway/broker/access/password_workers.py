"""Pool of password worker processes, started on demand and restarted after a failure.

The workers run at the lowest priority, so that password guessing delays no client. If other
programs or the broker use all CPU time, workers with a normal share replace them for a while
(docs/decisions/0154).
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

from gateway.broker.access.password_worker import GIVES_WAY, PasswordHash, request_of

CHECK_SECONDS_MAX: Final = 30.0
"""Time limit for one password: the costliest hash allowed in a file takes a Raspberry Pi some
seconds. After that the worker is killed."""

LOOK_SECONDS: Final = 0.2
"""Interval of checks how much CPU time a low-priority worker has got. If the CPU is busy, a
client's login takes that much longer."""

SHARE_LEAST: Final = 0.1
"""Smallest share of a core. With less, the worker is ended and one with normal priority repeats the
check."""

BUSY_SECONDS: Final = 60.0
"""How long workers then run with normal priority, before a low-priority one is tried again: the
delay that this costs a client must be rare."""

ATTEMPTS_MAX: Final = 2
"""Workers tried for one password: the first may have been killed by accident."""

# -P: ignore a directory called `gateway` in the caller's working directory.
COMMAND: Final = (sys.executable, "-P", "-m", "gateway.broker.access.password_worker")

LARGE_BLOCK_BYTES: Final = 8 << 20
"""Freed memory blocks from this size are returned to the system, such as the 19 MiB of a check;
otherwise glibc keeps the largest block (mallopt(3))."""

ENVIRONMENT: Final = {"MALLOC_MMAP_THRESHOLD_": str(LARGE_BLOCK_BYTES)} | {
    name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ
}
"""Environment of a worker: only where Python finds its modules."""


class WorkerFailed(Exception):
    """A password could not be checked: its worker process could not be started, or ended."""


class _Starved(Exception):
    """A low-priority worker gets almost no CPU time."""


# clock_getcpuclockid(3): a process's clock id is the complement of its number, with this.
_CPUCLOCK_SCHED: Final = 2


class PasswordWorkers:
    """Gives each password to an idle worker process."""

    def __init__(self) -> None:
        self.failed = 0
        """Workers that ended, or did not answer, since the start."""
        self._busy_until = float("-inf")
        """Until this time of the event loop's clock workers run with normal priority."""
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()

    async def held(self, hashes: Sequence[PasswordHash], password: bytes) -> list[bool]:
        """Return, for each hash, whether it is the hash of `password`.

        One process is started for each concurrent check. The caller limits how many there are.

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
        """Stop all workers."""
        while self._all:
            self._all.pop().end()
        self._idle.clear()

    @property
    def process_ids(self) -> list[int]:
        """Process ids of the running workers."""
        return [worker.process.pid for worker in self._all]

    async def _checked(self, request: bytes, count: int) -> bytes | None:
        """Return the answer of a worker that gets enough CPU time. None: the worker failed.

        Raises OSError if no process can be started.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CHECK_SECONDS_MAX):
                if loop.time() >= self._busy_until:
                    try:
                        return await self._unless_starved(request, count)
                    except _Starved:
                        self._busy_until = loop.time() + BUSY_SECONDS
                return await self._asked(self._worker(gives_way=False), request, count)
        except TimeoutError:
            self.failed += 1
            return None

    async def _unless_starved(self, request: bytes, count: int) -> bytes | None:
        """Return the answer of a low-priority worker. None: the worker failed.

        Raises _Starved if other processes leave it too little CPU time.
        """
        worker = self._worker(gives_way=True)
        answer = asyncio.ensure_future(self._asked(worker, request, count))
        try:
            while True:
                before = worker.processor_seconds()
                await asyncio.wait((answer,), timeout=LOOK_SECONDS)
                if answer.done():
                    return answer.result()
                if worker.processor_seconds() - before < SHARE_LEAST * LOOK_SECONDS:
                    raise _Starved
        finally:
            answer.cancel()

    def _worker(self, *, gives_way: bool) -> "_Worker":
        """Return an idle worker; start one if necessary. Raises OSError."""
        while self._idle:
            worker = self._idle.pop()
            if worker.gives_way is gives_way:
                return worker
            self._end(worker)
        worker = _Worker(gives_way=gives_way)
        self._all.add(worker)
        return worker

    async def _asked(self, worker: "_Worker", request: bytes, count: int) -> bytes | None:
        """Return a worker's answer. None: the worker failed and has been removed."""
        answer = None
        try:
            answer = await worker.ask(request, count)
        except ConnectionError:
            self.failed += 1
        finally:
            # Also when the caller is cancelled: otherwise its answer would be read as that of the
            # next one.
            if answer is None:
                self._end(worker)
        if answer is not None and worker in self._all:
            self._idle.append(worker)
        return answer

    def _end(self, worker: "_Worker") -> None:
        if worker in self._all:
            self._all.discard(worker)
            worker.end()


class _Worker:
    """A worker process, and our end of its socket."""

    def __init__(self, *, gives_way: bool) -> None:
        """Start the process. Raises OSError."""
        self.gives_way = gives_way
        command = (*COMMAND, GIVES_WAY) if gives_way else COMMAND
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
        """Return the CPU time that the process has used, in seconds; infinity if it has ended."""
        try:
            return time.clock_gettime(~self.process.pid << 3 | _CPUCLOCK_SCHED)
        except OSError:
            return float("inf")

    async def ask(self, request: bytes, count: int) -> bytes:
        """Send a request and return the `count` bytes of its answer. Raises ConnectionError."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, request)
        answer = b""
        while len(answer) < count:
            part = await loop.sock_recv(self._socket, count - len(answer))
            if not part:
                raise ConnectionResetError("the process for passwords has ended")
            answer += part
        return answer

    def end(self) -> None:
        """Kill the process and wait for it to exit, which is immediate."""
        self._socket.close()
        self.process.kill()
        self.process.wait()
