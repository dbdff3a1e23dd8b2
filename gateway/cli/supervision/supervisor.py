"""Supervisor that keeps a set of child processes running, and stops them in order.

A child that exits is restarted after a delay that doubles each time, from one second up to thirty.
A child never outlives the supervisor, because each child asks the kernel to send it SIGTERM when
the supervisor exits. Each child has its own process group. Thus Ctrl-C reaches only the supervisor,
which then stops the children in order.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.cli.running.processes import READY_VARIABLE, SUPERVISOR_VARIABLE

RESTART_SECONDS_MIN = 1.0
RESTART_SECONDS_MAX = 30.0
# If a child has run this long, its next restart uses the shortest delay again.
SETTLED_SECONDS = 60.0
# A child that stops flushes data to disk and closes connections, which a failing SD card delays.
STOP_SECONDS_MAX = 20.0
# From the start of Python to the first accepted connection: a Raspberry Pi Zero takes ten seconds.
READY_SECONDS_MAX = 60.0

Say = Callable[[str], None]


class ChildEnded(Exception):
    """Error raised if a child exits before it is ready.

    `exit_code` is negative if a signal ended the child.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass
class Child:
    """A child process. `reports_ready` is True if the child reports its readiness."""

    name: str
    command: Sequence[str]
    reports_ready: bool = False
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)
    _watch: asyncio.Task[None] | None = field(default=None, init=False)


class Supervisor:
    """Supervisor that starts and stops child processes, and restarts those that exit."""

    def __init__(self, environment: Mapping[str, str], say: Say) -> None:
        self._environment = dict(environment) | {SUPERVISOR_VARIABLE: str(os.getpid())}
        self._say = say
        self._children: list[Child] = []
        self._is_stopping = False

    async def start(self, child: Child) -> None:
        """Start a child and keep it running. If it reports readiness, wait until it is ready.

        Raises ChildEnded if the child exits before it is ready, since a restart would not help.
        """
        self._children.append(child)
        await self._launch(child)
        child._watch = asyncio.create_task(self._keep_running(child))

    async def stop(self, *names: str) -> None:
        """Stop the children with the given names concurrently. Return when all have exited.

        Unknown names are ignored.
        """
        await asyncio.gather(*(self._end(child) for child in self._children if child.name in names))

    def kill(self) -> None:
        """Kill all children immediately, for an operator who does not want to wait."""
        self._is_stopping = True
        for child in self._children:
            _signal(child, signal.SIGKILL)

    async def _launch(self, child: Child) -> None:
        environment = dict(self._environment)
        inherited: tuple[int, ...] = ()
        read_end = write_end = -1
        if child.reports_ready:
            read_end, write_end = os.pipe()
            environment[READY_VARIABLE] = str(write_end)
            inherited = (write_end,)
        try:
            child._process = await asyncio.create_subprocess_exec(
                *child.command,
                stdin=asyncio.subprocess.DEVNULL,
                env=environment,
                pass_fds=inherited,
                process_group=0,
            )
        finally:
            if write_end >= 0:
                os.close(write_end)
        if read_end >= 0 and not await _reports_ready(read_end):
            status = await child._process.wait()
            raise ChildEnded(f"{child.name} {_ending_of(status)} before it was ready", status)

    async def _keep_running(self, child: Child) -> None:
        wait_seconds = RESTART_SECONDS_MIN
        while True:
            assert child._process is not None
            started = time.monotonic()
            status = await child._process.wait()
            if self._is_stopping:
                return
            if time.monotonic() - started > SETTLED_SECONDS:
                wait_seconds = RESTART_SECONDS_MIN
            self._say(f"{child.name} {_ending_of(status)}: started again in {wait_seconds:g} s")
            await asyncio.sleep(wait_seconds)
            wait_seconds = min(2 * wait_seconds, RESTART_SECONDS_MAX)
            # The child's log has the reason. The next restart may succeed.
            with contextlib.suppress(ChildEnded):
                await self._launch(child)

    async def _end(self, child: Child) -> None:
        if child._watch is not None:
            child._watch.cancel()
            await asyncio.gather(child._watch, return_exceptions=True)
        if child._process is None:
            return
        _signal(child, signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS_MAX):
                await child._process.wait()
        except TimeoutError:
            self._say(f"{child.name} did not stop within {STOP_SECONDS_MAX:g} s and is killed")
            _signal(child, signal.SIGKILL)
            await child._process.wait()


async def _reports_ready(read_end: int) -> bool:
    """Wait for a child's readiness report on a pipe. Return False if the child exits first.

    If there is no report within `READY_SECONDS_MAX`, return True, so that a slow child is not
    restarted.
    """
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        async with asyncio.timeout(READY_SECONDS_MAX):
            return bool(await reader.readline())
    except TimeoutError:
        return True
    finally:
        transport.close()


def _signal(child: Child, number: signal.Signals) -> None:
    if child._process is not None and child._process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child._process.send_signal(number)


def _ending_of(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with exit code {status}"
