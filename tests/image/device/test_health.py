"""A gateway is healthy if one message returns exactly once and the gateway's page responds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from oncegate_device.health import NotHealthyError, check

from tests.system.broker_process import free_port
from tests.system.fixtures import running_broker
from tests.tools.bench.lying_broker import LyingBroker, copy_of


@contextlib.asynccontextmanager
async def page_with(status: str) -> AsyncIterator[int]:
    """Run a page that sends this status for every request, and yield its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /readyz HTTP/1.1\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def checked(folder: Path, *, broker: int, page: int) -> str:
    file = folder / "gateway.toml"
    serial = '[[serial]]\nname = "gps"\npath = "/dev/ttyS0"\nframing = "nmea"\n'
    listeners = f'[[listeners]]\nbind = "127.0.0.1"\nport = {broker}\n'
    file.write_text(f"{listeners}{serial}[api]\nport = {page}\n")
    return await asyncio.to_thread(check, file)


async def test_a_broker_and_a_page_that_work_are_healthy_and_nothing_is_left_behind(
    tmp_path: Path,
) -> None:
    with running_broker() as broker:
        async with page_with("200 OK") as page:
            words = await checked(tmp_path, broker=broker.port, page=page)
        assert broker.ask("status")["sessions"]["total"] == 0
    assert words.startswith("healthy: a message once through the broker, the page answers")


async def test_a_page_that_is_not_ready_is_not_healthy(tmp_path: Path) -> None:
    async with LyingBroker() as broker, page_with("503 Service Unavailable") as page:
        with pytest.raises(NotHealthyError, match="answers /readyz with 503, not 200"):
            await checked(tmp_path, broker=broker.port, page=page)


async def test_a_broker_that_hands_a_message_over_twice_is_not_healthy(tmp_path: Path) -> None:
    async with (
        LyingBroker(forward=lambda _, message: [copy_of(message), copy_of(message)]) as broker,
        page_with("200 OK") as page,
    ):
        with pytest.raises(NotHealthyError, match="over 2 times, not once"):
            await checked(tmp_path, broker=broker.port, page=page)


async def test_a_broker_that_closes_the_connection_is_not_healthy(tmp_path: Path) -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Everything is read before the close, so that the client reads an end of file and not a
        # reset.
        await reader.read(1 << 16)
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as broker:
        port = broker.sockets[0].getsockname()[1]
        with pytest.raises(NotHealthyError, match="the broker closed the connection"):
            await checked(tmp_path, broker=port, page=free_port())


async def test_a_gateway_that_does_not_listen_is_not_healthy(tmp_path: Path) -> None:
    with pytest.raises(NotHealthyError, match="ConnectionRefusedError"):
        await checked(tmp_path, broker=free_port(), page=free_port())


def test_a_gateway_whose_configuration_is_broken_is_not_healthy(tmp_path: Path) -> None:
    with pytest.raises(NotHealthyError, match="cannot be read"):
        check(tmp_path / "missing.toml")
