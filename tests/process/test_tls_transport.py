"""TLS over buffers in memory, tested with asyncio's client: an echo, and a close by either end."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.process.tls_transport import TlsTransport
from tests.broker.access.authority import Authority
from tests.peers.connection import DEADLINE_SECONDS

LARGE = b"0123456789" * 100_000
END = b"end"


class Echo(asyncio.Protocol):
    """Sends received bytes back, and closes the connection after `end`."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(b"before the handshake nothing is sent")

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)
        if data.endswith(END):
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


class Served(TlsTransport[Echo]):
    """A server transport with the simplest handshake: one TLS context for all clients."""

    context: ssl.SSLContext

    def data_received(self, data: bytes) -> None:
        self._take(self._tls or self._begin(self.context), data)


class Site:
    """The port of an echo server, and the echoes that it has created."""

    def __init__(self, port: int, trusted: Path, made: list[Echo]) -> None:
        self.port, self.made = port, made
        self._trusted = trusted

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = ssl.create_default_context(cafile=self._trusted)
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context, server_hostname="gateway"
        )


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    authority = Authority(tmp_path / "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("gateway", alternatives="DNS:gateway"))
    made: list[Echo] = []

    def make() -> Served:
        made.append(Echo())
        served = Served(made[-1])
        served.context = context
        return served

    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    async with server:
        yield Site(server.sockets[0].getsockname()[1], authority.ca, made)


@pytest.mark.parametrize("sent", [b"x", LARGE], ids=["small", "large"])
async def test_what_is_written_arrives_whole_and_the_end_of_tls_after_it(
    site: Site, sent: bytes
) -> None:
    reader, writer = await site.open()
    async with asyncio.timeout(DEADLINE_SECONDS):
        writer.write(sent + END)
        # Without TLS's close message the client would raise an error, because the data could be
        # truncated.
        assert await reader.read(-1) == sent + END
        await site.made[0].lost.wait()
    writer.close()


async def test_a_connection_counts_from_its_first_moment_and_ends_without_a_handshake(
    site: Site,
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not site.made:  # noqa: ASYNC110 - the server has no event to wait for
            await asyncio.sleep(0)
        site.made[0].transport.close()
        assert await reader.read(-1) == b"", "nothing was sent before the handshake"
        await site.made[0].lost.wait()
    assert site.made[0].transport.is_closing()
    writer.close()


async def test_nothing_is_written_any_more_behind_an_abort(site: Site) -> None:
    _, writer = await site.open()
    async with asyncio.timeout(DEADLINE_SECONDS):
        echo = site.made[0]
        echo.transport.abort()
        echo.transport.write(b"too late")
        await echo.lost.wait()
    assert echo.transport.get_extra_info("peername")[0] == "127.0.0.1"
    writer.transport.abort()
