"""Debian's mosquitto_pub, mosquitto_sub and mosquitto_rr, run as people type them."""

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

from tests.peers.connection import DEADLINE_SECONDS
from tests.system.stage import Stage


async def run(stage: Stage, command: str, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run a command until it has exited. Return its output."""
    process = await asyncio.create_subprocess_exec(
        command, "-p", str(stage.broker.port), *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(DEADLINE_SECONDS):
        output, errors = await process.communicate(stdin)
    assert process.returncode == 0, errors
    return output


@contextlib.asynccontextmanager
async def subscriber(stage: Stage, *arguments: str) -> AsyncIterator[Process]:
    """Yield a running mosquitto_sub whose subscription the broker has granted."""
    subscriptions = (await stage.status())["subscriptions"]
    process = await asyncio.create_subprocess_exec(
        "mosquitto_sub", "-p", str(stage.broker.port), *arguments, stdout=PIPE, stderr=PIPE
    )
    try:
        await stage.eventually(
            lambda status: status["subscriptions"] > subscriptions, "one more subscription"
        )
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def lines_of(process: Process, count: int) -> list[str]:
    """Return the next lines that the process prints."""
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE_SECONDS):
        return [(await process.stdout.readline()).decode().rstrip("\n") for _ in range(count)]
