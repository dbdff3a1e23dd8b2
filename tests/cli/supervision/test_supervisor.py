"""The supervisor with real processes: order, restarts, and no process left behind."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.cli.supervision.supervisor import Child, ChildEnded, Supervisor

# Writes its process id into a pipe, reports ready, and on SIGTERM writes its name into a log.
PROGRAM = """
import os, signal, sys
from gateway.cli.running.processes import _die_with_supervisor, notify_ready
directory, name = sys.argv[1:]
def end(*_):
    with open(os.path.join(directory, "endings"), "a") as log:
        log.write(name + "\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
_die_with_supervisor()
with open(os.path.join(directory, "births"), "w") as births:
    births.write(f"{os.getpid()}\\n")
notify_ready()
while True:
    signal.pause()
"""
DEADLINE_SECONDS = 60.0


class Births:
    """The pipe into which child processes write their process ids."""

    def __init__(self, directory: Path) -> None:
        os.mkfifo(directory / "births")
        # Open for reading and writing, so that the pipe has no end of file while no child writes.
        self._pipe = os.fdopen(os.open(directory / "births", os.O_RDWR | os.O_NONBLOCK), "rb", 0)
        self._reader = asyncio.StreamReader()

    async def listen(self) -> None:
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), self._pipe
        )

    async def next_pid(self) -> int:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return int(await self._reader.readline())

    def close(self) -> None:
        self._pipe.close()


@pytest.fixture
async def births(tmp_path: Path) -> AsyncIterator[Births]:
    births = Births(tmp_path)
    await births.listen()
    yield births
    births.close()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
async def supervisor(said: list[str], births: Births) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(os.environ, said.append)
    yield supervisor
    await supervisor.stop("a", "b", "c")


def child(name: str, directory: Path, program: str = PROGRAM) -> Child:
    return Child(name, [sys.executable, "-c", program, str(directory), name], reports_ready=True)


async def has_ended(pid: int) -> None:
    """Wait until the process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def test_start_returns_when_the_child_is_ready(
    supervisor: Supervisor, births: Births, tmp_path: Path
) -> None:
    await supervisor.start(child("a", tmp_path))
    os.kill(await births.next_pid(), 0)


async def test_children_end_in_the_order_in_which_they_are_stopped(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    for name in "abc":
        await supervisor.start(child(name, tmp_path))
    for name in "bca":
        await supervisor.stop(name)
    assert (tmp_path / "endings").read_text().split() == ["b", "c", "a"]


async def test_a_child_that_is_killed_is_started_again_and_the_reason_is_said(
    supervisor: Supervisor, births: Births, said: list[str], tmp_path: Path
) -> None:
    await supervisor.start(child("a", tmp_path))
    first = await births.next_pid()
    os.kill(first, signal.SIGKILL)
    assert await births.next_pid() != first
    assert said == ["a was ended by SIGKILL: started again in 1 s"]


async def test_a_child_that_ends_before_it_is_ready_is_not_started_again(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ChildEnded, match="a ended with exit code 3 before it was ready") as ended:
        await supervisor.start(child("a", tmp_path, "import sys; sys.exit(3)"))
    assert ended.value.exit_code == 3
    assert said == []


async def test_kill_ends_all_together(
    supervisor: Supervisor, births: Births, tmp_path: Path
) -> None:
    await supervisor.start(child("a", tmp_path))
    supervisor.kill()
    await has_ended(await births.next_pid())
    assert not (tmp_path / "endings").exists()


async def test_no_child_outlives_a_supervisor_that_is_killed(
    births: Births, tmp_path: Path
) -> None:
    program = f"""
import asyncio, os, sys
from gateway.cli.supervision.supervisor import Child, Supervisor
async def main():
    supervisor = Supervisor(os.environ, print)
    command = [sys.executable, "-c", {PROGRAM!r}, {str(tmp_path)!r}, "a"]
    await supervisor.start(Child("a", command, reports_ready=True))
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await process.wait() == -signal.SIGKILL
    await has_ended(await births.next_pid())
    assert (tmp_path / "endings").read_text() == "a\n"
