"""The processes that check passwords, as the broker has them: started when needed, and again."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from gateway.access.password_worker import PasswordHash, request_of

CHECK_SECONDS_MAX: Final = 30.0
"""For one password: the most costly hash that a file may have takes a Raspberry Pi some seconds,
and workers give way to everything else. Then the worker is killed."""

ATTEMPTS_MAX: Final = 2
"""Workers that one password is given to: the first may have been killed by accident."""

# -P: a directory of the caller's that happens to be called `gateway` is not ours.
COMMAND: Final = (sys.executable, "-P", "-m", "gateway.access.password_worker")

LARGE_BLOCK_BYTES: Final = 8 << 20
"""Memory from this size on goes back to the system when it is freed, as the 19 MiB of a check: else
glibc keeps the largest block that there was (mallopt(3))."""

ENVIRONMENT: Final = {"MALLOC_MMAP_THRESHOLD_": str(LARGE_BLOCK_BYTES)} | {
    name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ
}
"""All that a worker gets of ours: where Python finds its modules."""


class WorkerFailed(Exception):
    """A password could not be checked: the process for it cannot be started, or ends."""


class PasswordWorkers:
    """Gives each password to a process that has none."""

    def __init__(self) -> None:
        self.failed = 0
        """Workers that ended, or did not answer, since the start."""
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()

    async def held(self, hashes: Sequence[PasswordHash], password: bytes) -> list[bool]:
        """Return for each hash whether it is the password's.

        As many processes come to be as passwords are checked at a time: the caller bounds that.

        Raises:
            WorkerFailed: nothing is known of the password.
        """
        request = request_of(hashes, password)
        for _ in range(ATTEMPTS_MAX):
            try:
                worker = self._idle.pop() if self._idle else self._start()
            except OSError as error:
                raise WorkerFailed(f"no process can be started: {error.strerror}") from error
            answer = await self._asked(worker, request, len(hashes))
            if answer is not None:
                return [bool(each) for each in answer]
        raise WorkerFailed(f"{ATTEMPTS_MAX} processes have ended while they checked it")

    def close(self) -> None:
        """End all of them."""
        while self._all:
            self._all.pop().end()
        self._idle.clear()

    @property
    def process_ids(self) -> list[int]:
        """Those of the processes that there are."""
        return [worker.process.pid for worker in self._all]

    def _start(self) -> "_Worker":
        worker = _Worker()
        self._all.add(worker)
        return worker

    async def _asked(self, worker: "_Worker", request: bytes, count: int) -> bytes | None:
        """Return a worker's answer; None: it has failed, and is no more."""
        answer = None
        try:
            async with asyncio.timeout(CHECK_SECONDS_MAX):
                answer = await worker.ask(request, count)
        except (ConnectionError, TimeoutError):
            self.failed += 1
        finally:
            # Also when the caller is cancelled: its answer would be read as the next one's.
            if answer is None and worker in self._all:
                self._all.discard(worker)
                worker.end()
        if answer is not None and worker in self._all:
            self._idle.append(worker)
        return answer


class _Worker:
    """One process, and our end of its connection."""

    def __init__(self) -> None:
        """Start it. Raises OSError."""
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            try:
                pipe = theirs.fileno()
                self.process = subprocess.Popen(
                    COMMAND, stdin=pipe, stdout=pipe, cwd="/", env=ENVIRONMENT
                )
            except OSError:
                self._socket.close()
                raise

    async def ask(self, request: bytes, count: int) -> bytes:
        """Return the answer to a request, `count` bytes. Raises ConnectionError."""
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
        """Kill the process and wait for its end, which takes it no time."""
        self._socket.close()
        self.process.kill()
        self.process.wait()
