"""The client of a control socket, with brokers that respond well, badly, late or not at all."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from gateway.process.control.client import ControlClient, ask
from gateway.process.control.messages import LINE_BYTES_MAX, Refused, UnusableAnswer

STATUS = {"command": "status"}
ANSWER_SECONDS = 10.0
SHORT_SECONDS = 0.1
Serve = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


async def echo(line: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(json.dumps({"ok": True, "result": json.loads(line)}).encode() + b"\n")


@contextlib.asynccontextmanager
async def broker(path: Path, serve: Serve = echo) -> AsyncIterator[list[bytes]]:
    """Run a broker that passes each line to `serve`. Yields the list of all lines."""
    lines: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                lines.append(line)
                await serve(line, writer)
        writer.close()

    server = await asyncio.start_unix_server(connected, path, limit=2 * LINE_BYTES_MAX)
    try:
        yield lines
    finally:
        server.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


async def test_requests_share_a_connection_and_each_gets_its_own_answer(path: Path) -> None:
    client = ControlClient(path, ANSWER_SECONDS)
    async with broker(path):
        requests = [{"command": "session", "client_id": str(number)} for number in range(50)]
        assert await asyncio.gather(*map(client.request, requests)) == requests
        client.close()


async def test_a_refusal_keeps_the_connection(path: Path) -> None:
    async def refuse(line: bytes, writer: asyncio.StreamWriter) -> None:
        error = {"code": "not_found", "message": "no such client"}
        writer.write(json.dumps({"ok": False, "error": error}).encode() + b"\n")

    client = ControlClient(path, ANSWER_SECONDS)
    async with broker(path, refuse) as lines:
        for _ in range(2):
            with pytest.raises(Refused):
                await client.request(STATUS)
        assert len(lines) == 2
        client.close()


async def test_without_a_broker_the_error_is_the_system_s(path: Path) -> None:
    client = ControlClient(path, ANSWER_SECONDS)
    with pytest.raises(FileNotFoundError):
        await client.request(STATUS)
    with pytest.raises(FileNotFoundError):
        ask(path, ANSWER_SECONDS, STATUS)


async def test_an_answer_that_comes_too_late_is_not_confused_with_the_next_one(path: Path) -> None:
    go_on = asyncio.Event()

    async def late(line: bytes, writer: asyncio.StreamWriter) -> None:
        if b"slow" in line:
            await go_on.wait()
        await echo(line, writer)

    client = ControlClient(path, SHORT_SECONDS)
    async with broker(path, late):
        with pytest.raises(TimeoutError):
            await client.request({"command": "slow"})
        go_on.set()
        assert await client.request(STATUS) == STATUS
        client.close()


async def test_a_read_is_repeated_after_a_restart_and_a_change_is_not(path: Path) -> None:
    client = ControlClient(path, ANSWER_SECONDS)
    for repeats in (True, False):
        ended = asyncio.Event()

        async def once(
            line: bytes, writer: asyncio.StreamWriter, ended: asyncio.Event = ended
        ) -> None:
            await echo(line, writer)
            writer.close()
            ended.set()

        async with broker(path, once):
            await client.request(STATUS)
            await ended.wait()
        async with broker(path) as lines:
            if repeats:
                assert await client.read(STATUS) == STATUS
            else:
                with pytest.raises((ConnectionError, EOFError)):
                    await client.request(STATUS)
            assert len(lines) == repeats
        client.close()


@pytest.mark.parametrize(
    "answer",
    [b"\xff\n", b"{}\n", b"x" * (LINE_BYTES_MAX + 2) + b"\n"],
    ids=["bytes", "empty", "long"],
)
async def test_an_unusable_answer_ends_the_connection(path: Path, answer: bytes) -> None:
    async def rubbish(line: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    client = ControlClient(path, ANSWER_SECONDS)
    async with broker(path, rubbish):
        for _ in range(2):
            with pytest.raises(UnusableAnswer):
                await client.request(STATUS)
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        await client.request(STATUS)


async def test_a_broker_that_goes_away_over_a_request_is_noticed(path: Path) -> None:
    async def leave(line: bytes, writer: asyncio.StreamWriter) -> None:
        writer.close()

    client = ControlClient(path, ANSWER_SECONDS)
    async with broker(path, leave):
        with pytest.raises((ConnectionError, EOFError)):
            await client.request(STATUS)


async def test_a_program_without_an_event_loop_asks_too(path: Path) -> None:
    async with broker(path):
        assert await asyncio.to_thread(ask, path, ANSWER_SECONDS, STATUS) == STATUS

    async def cut(line: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"ok": true, "result": {}}')
        writer.close()

    async with broker(path, cut):
        with pytest.raises(UnusableAnswer):
            await asyncio.to_thread(ask, path, ANSWER_SECONDS, STATUS)

    async def silent(line: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3 * SHORT_SECONDS)

    async with broker(path, silent):
        with pytest.raises(TimeoutError):
            await asyncio.to_thread(ask, path, SHORT_SECONDS, STATUS)
