"""Visitors' connections have limits on time and memory, and none delays the shutdown."""

import asyncio
import contextlib
from pathlib import Path

import httpx
import pytest

from api import limits
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker

NOT_HTTP = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    b"CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04abcd",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x00" * 1000,
)


async def test_stopping_waits_for_no_visitor_who_keeps_a_connection_open(
    status_socket: Path, broker: ContractBroker
) -> None:
    broker.silent = True
    async with serving(status_socket) as url:
        address = httpx.URL(url)
        idle = await asyncio.open_connection(address.host, address.port)
        asking = await asyncio.open_connection(address.host, address.port)
        asking[1].write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        halfway = await asyncio.open_connection(address.host, address.port)
        halfway[1].write(b"GET /readyz HTTP/1.1\r\nHo")
    for reader, writer in (idle, asking, halfway):
        # Closing a socket with unread bytes sends a reset.
        with contextlib.suppress(ConnectionResetError):
            await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)
        writer.close()


async def test_a_visitor_who_never_ends_the_request_is_sent_away(
    monkeypatch: pytest.MonkeyPatch, status_socket: Path
) -> None:
    monkeypatch.setattr(limits, "CONNECTION_SECONDS_MAX", 0.05)
    async with serving(status_socket) as url:
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: loc")
        assert await asyncio.wait_for(reader.read(), DEADLINE_SECONDS) == b""
        writer.close()


async def test_a_visitor_who_never_reads_the_answers_is_sent_away(
    monkeypatch: pytest.MonkeyPatch, status_socket: Path, broker: ContractBroker
) -> None:
    monkeypatch.setattr(limits, "CONNECTION_SECONDS_MAX", 0.2)
    monkeypatch.setattr(limits, "FAREWELL_SECONDS", 0.1)
    async with serving(status_socket) as url:
        address = httpx.URL(url)
        _, writer = await asyncio.open_connection(address.host, address.port)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(_ask_without_end(writer), DEADLINE_SECONDS)
        writer.transport.abort()


async def test_headers_without_an_end_are_not_kept(status_socket: Path) -> None:
    async with serving(status_socket) as url:
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        writer.write(b"X: " + b"x" * limits.REQUEST_HEAD_BYTES_MAX)
        answer = await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"too long" in answer
        writer.close()


async def test_what_is_not_http_is_refused_and_the_next_visitor_is_served(
    status_socket: Path,
) -> None:
    async with serving(status_socket) as url, httpx.AsyncClient() as client:
        address = httpx.URL(url)
        for request_bytes in NOT_HTTP:
            reader, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(request_bytes)
            writer.write_eof()
            answer = await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)
            writer.close()
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), request_bytes
            assert (await client.get(url + "healthz")).status_code == 200


async def test_a_request_whose_headers_do_not_end_in_time_is_ended(
    monkeypatch: pytest.MonkeyPatch, status_socket: Path
) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS_MAX", 0.2)
    async with serving(status_socket) as url:
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"alive" in await asyncio.wait_for(reader.readuntil(b"}"), DEADLINE_SECONDS)
        # A second request on the same connection, sent one byte at a time.
        slow = asyncio.create_task(send_slowly(writer, b"GET /healthz HTTP/1.1\r\nHost: " * 10))
        # A byte that arrives after the page has closed the connection causes a reset.
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), DEADLINE_SECONDS) == b""
        assert not slow.done(), "ended before the headers did"
        slow.cancel()
        writer.close()


async def send_slowly(writer: asyncio.StreamWriter, text: bytes) -> None:
    for byte in text:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)


async def test_an_address_longer_than_a_parser_takes_is_refused_before_the_broker_is_asked(
    url: str, broker: ContractBroker
) -> None:
    address = httpx.URL(url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    # httpx itself refuses to send an address of this length.
    writer.write(b"GET /api/v1/session?client_id=" + b"a" * limits.ADDRESS_BYTES_MAX)
    writer.write(b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), DEADLINE_SECONDS)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400")
    assert broker.requests == []


async def _ask_without_end(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
        await writer.drain()
