"""Headers of every response, HEAD requests, and the host names that the page accepts."""

import asyncio
import socket
from pathlib import Path

import httpx
import pytest

from api.main import create_app
from api.settings import ApiSettings
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker


async def test_head_answers_as_get_without_the_body(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for path in (
        "/",
        "/docs",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/assets/page.css",
        "/api/v1/status",
        "/api/v1/sessions/phone",
        "/api/v1/serial",
        "/api/v1/nothing",
    ):
        get, head = await client.get(path), await client.head(path)
        assert head.status_code == get.status_code
        assert head.headers["content-type"] == get.headers["content-type"]
        assert head.content == b""


async def test_every_answer_is_shielded(client: httpx.AsyncClient, broker: ContractBroker) -> None:
    for path in ("/", "/docs", "/api/v1/status", "/nothing", "/assets/page.css"):
        headers = (await client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers
        if not path.startswith("/assets/"):
            assert headers["cache-control"] == "no-store"


async def test_a_page_on_loopback_is_not_shown_to_a_stranger_under_another_name(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for host in ("attacker.example", "127.0.0.1.attacker.example:80", "", "["):
        response = await client.get("/api/v1/status", headers={"Host": host})
        assert response.status_code == 421
        assert "localhost" in response.json()["mend"]
    assert broker.requests == []


async def test_addresses_and_localhost_are_names_of_this_machine(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for host in ("localhost:8080", "LOCALHOST", "127.0.0.1", "[::1]:8080", "192.168.1.7:80"):
        response = await client.get("/api/v1/status", headers={"Host": host})
        assert response.status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "[::1%" + "a" * 60_000 + "]",
        "localhost" + "." * 60_000,
        "127.0.0.1:" + "9" * 60_000,
        "a." * 30_000 + "localhost",
        "xn--" + "\xe9" * 30_000,
        "1." * 30_000,
    ],
    ids=["scope", "dots", "port", "labels", "idna", "octets"],
)
async def test_a_host_longer_than_any_name_is_refused_unparsed(
    client: httpx.AsyncClient, broker: ContractBroker, host: str
) -> None:
    response = await client.get("/api/v1/status", headers=[(b"Host", host.encode("latin-1"))])
    assert response.status_code == 421
    assert broker.requests == []


@pytest.mark.parametrize(
    "host", [b"\xff\xfe", b"\xc3\xa9.local", b"localhost, evil", b"[]", b":", b"@"]
)
async def test_a_host_of_odd_bytes_is_refused_and_the_next_request_is_answered(
    client: httpx.AsyncClient, broker: ContractBroker, host: bytes
) -> None:
    assert (await client.get("/api/v1/status", headers=[(b"Host", host)])).status_code == 421
    assert (await client.get("/api/v1/status")).status_code == 200


async def test_names_of_this_machine_and_configured_ones_are_answered_and_no_others(
    broker: ContractBroker, status_socket: Path
) -> None:
    own_name = socket.gethostname()
    async with (
        serving(status_socket, hosts=("gateway.example",)) as url,
        httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as client,
    ):
        for host in ("Gateway.Example:443", "gateway.example.", own_name, f"{own_name}.local:1"):
            response = await client.get("/api/v1/status", headers={"Host": host})
            assert response.status_code == 200, host
        for host in ("other.example", "x.gateway.example", "gateway.example:80:80"):
            response = await client.get("/api/v1/status", headers={"Host": host})
            assert response.status_code == 421, host
            assert "[api] hosts" in response.json()["mend"]


async def test_a_page_of_the_network_is_no_page_of_every_name(
    broker: ContractBroker, status_socket: Path
) -> None:
    app = create_app(ApiSettings(bind="0.0.0.0", status_socket=status_socket))  # noqa: S104
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://attacker.example",
            timeout=DEADLINE_SECONDS,
        ) as elsewhere,
    ):
        assert (await elsewhere.get("/api/v1/status")).status_code == 421
    assert broker.requests == []


async def status_line_of(url: httpx.URL, request: bytes) -> bytes:
    """Send the bytes of a request, and return the first line of the response."""
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            writer.write(request)
            return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_health_check_without_a_host_is_answered(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    # As HAProxy sends it for `option httpchk GET /healthz`.
    line = await status_line_of(client.base_url, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert line.split()[1] == b"200"
    without = b"GET /healthz HTTP/1.1\r\n\r\n"
    assert (await status_line_of(client.base_url, without)).split()[1] == b"421"


@pytest.mark.parametrize("second", [b"localhost", b"attacker.example", b""])
async def test_a_request_for_two_hosts_is_refused(
    client: httpx.AsyncClient, broker: ContractBroker, second: bytes
) -> None:
    request = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nHost: " + second + b"\r\n\r\n"
    assert (await status_line_of(client.base_url, request)).split()[1] == b"400"
