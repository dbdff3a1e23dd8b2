"""Taking the port, stopping, and the visitors who do not behave."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api import limits
from api.listening import CannotListen, PortTaken, holder_of, listen, url_of
from api.main import serve
from api.settings import ApiSettings
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker
from tests.system.broker_process import free_port

HOLD_A_PORT = (
    "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); "
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)

NOT_HTTP = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    b"CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04abcd",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x00" * 1000,
)


@pytest.fixture
def holder() -> Iterator[tuple[int, int]]:
    """Another process that holds a port: its pid and the port."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_A_PORT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.kill()


async def test_a_taken_port_is_named_with_its_holder_and_the_option_to_change(
    tmp_path: Path, holder: tuple[int, int]
) -> None:
    pid, port = holder
    settings = ApiSettings(port=port, status_socket=tmp_path / "status.sock")
    with pytest.raises(PortTaken) as caught:
        await serve(settings, asyncio.Event())
    message = str(caught.value)
    for told in (
        f"port {port}",
        f"process {pid} (",
        "import socket",
        "[api] port",
        "--port",
        "ONCEGATE_API_PORT",
    ):
        assert told in message
    assert "\n" not in message


def test_a_port_that_nobody_holds_has_no_holder() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert holder_of(port) is not None
    assert holder_of(port) is None


def test_a_holder_whose_process_is_hidden_is_named_by_its_user(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1\n"
    )
    assert holder_of(8080, tmp_path) == "a process of user root"
    assert holder_of(8081, tmp_path) is None


@pytest.mark.parametrize(
    ("bind", "told"),
    [("192.0.2.1", "no such address"), ("no such host", "no address"), ("x" * 300, "no address")],
)
def test_an_address_that_is_not_this_machines_is_said_to_be_so(
    tmp_path: Path, bind: str, told: str
) -> None:
    with pytest.raises(CannotListen, match=told) as caught:
        listen(ApiSettings(bind=bind, port=0, status_socket=tmp_path / "s"))
    assert "[api] bind" in str(caught.value)


def test_the_address_of_an_ipv6_listener_is_one_a_browser_takes(tmp_path: Path) -> None:
    with listen(ApiSettings(bind="::1", port=0, status_socket=tmp_path / "s")) as listener:
        assert url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}/"


async def test_stopping_frees_the_port_and_leaves_no_task(status_socket: Path) -> None:
    before = asyncio.all_tasks()
    async with serving(status_socket) as url, httpx.AsyncClient() as client:
        await client.get(url)
        port = httpx.URL(url).port
        assert port is not None
    assert asyncio.all_tasks() == before
    listen(ApiSettings(port=port, status_socket=status_socket)).close()


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
            await asyncio.wait_for(_ask_for_ever(writer), DEADLINE_SECONDS)
        writer.transport.abort()


async def _ask_for_ever(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
        await writer.drain()


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
