"""The REST interface through a real server and a real HTTP client."""

import asyncio
import itertools
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from api import limits
from api.main import create_app
from api.settings import ApiSettings
from tests.api import recorded
from tests.api.conftest import DEADLINE_SECONDS
from tests.api.contract_broker import ContractBroker, refusal

HOSTILE_IDS = (
    "plain",
    "with/slashes//and/end/",
    "/leading",
    "query?and=more&more#fragment",
    "percent%2Fsign%",
    "line\nfeed",
    "ends with a line feed\n",
    "right-to-left\u202e",
    "<script>alert(1)</script>",
    "'; DROP TABLE sessions; --",
    "nul\x00inside",
    "\N{SNOWMAN}\N{GRINNING FACE}",
    " ",
    "a" * 20_000,
)


async def test_the_status_is_the_brokers_own_words(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    response = await client.get("/api/v1/status")
    assert response.status_code == 200
    told = response.json()
    assert told["listeners"][0].pop("path") is None
    assert told == recorded.status()


async def test_the_serial_report_has_every_port_device_and_quantity_unrounded(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    told = (await client.get("/api/v1/serial")).json()
    expected = recorded.bridge_status()
    for port in expected["ports"]:
        port["unreadable"] = []
        for device in port["devices"]:
            device["unreadable"] = []
            for quantity in device["quantities"]:
                quantity["unreadable"] = []
    assert told == {
        "time_ms": recorded.NOW_MS - 600,
        "age_seconds": 0.6,
        "problem": None,
        "status": expected,
    }


async def test_the_upload_report_is_the_uploaders_own_words(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    told = (await client.get("/api/v1/upload")).json()
    assert told["status"] == recorded.uploader_status()


async def test_a_bridge_that_never_reported_is_null_and_not_an_error(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.reports = {}
    response = await client.get("/api/v1/serial")
    assert response.status_code == 200
    assert response.json() == {
        "time_ms": None,
        "age_seconds": None,
        "problem": None,
        "status": None,
    }


async def test_pages_of_sessions_lead_to_every_session_once(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.sessions = [recorded.session(f"client-{index:03}") for index in range(25)]
    seen: list[str] = []
    query: dict[str, str | int] = {"limit": 10}
    while True:
        page = (await client.get("/api/v1/sessions", params=query)).json()
        seen += [session["client_id"] for session in page["sessions"]]
        if page["next"] is None:
            break
        query["after"] = page["next"]
    assert seen == [f"client-{index:03}" for index in range(25)]


async def test_a_limit_outside_the_contract_is_a_problem_that_names_it(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for limit in ("0", "1001", "-1", "ten", ""):
        response = await client.get("/api/v1/sessions", params={"limit": limit})
        assert response.status_code == 422
        assert response.headers["content-type"] == "application/problem+json"
        assert "limit" in response.json()["detail"]
    assert broker.requests == []


async def test_any_client_id_reaches_its_own_session_and_no_other(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    # Beside each id stands the one that a careless server would take it for.
    broker.sessions = [
        recorded.session(one)
        for client_id in HOSTILE_IDS
        for one in (client_id, client_id.strip("\n/"))
    ]
    for client_id in HOSTILE_IDS:
        by_path = await client.get("/api/v1/sessions/" + quote(client_id, safe=""))
        by_query = await client.get("/api/v1/session", params={"client_id": client_id})
        for response in (by_path, by_query):
            assert response.status_code == 200, client_id
            assert response.json()["client_id"] == client_id
            assert response.json()["subscriptions"][0] == {"filter": "sensors/#", "qos": 2}


async def test_ids_that_a_path_cannot_carry_are_reached_by_query(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.sessions = [recorded.session("..")]
    response = await client.get("/api/v1/session", params={"client_id": ".."})
    assert response.json()["client_id"] == ".."


async def test_an_unknown_session_is_404_with_the_brokers_words(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    response = await client.get("/api/v1/sessions/nobody")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "no session for client id 'nobody'",
    }


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


async def test_a_refusal_without_a_meaning_in_http_is_a_bad_gateway(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.instead = lambda _: refusal("failed", "the disk is gone")
    response = await client.get("/api/v1/status")
    assert response.status_code == 502
    assert response.json()["detail"] == "the disk is gone"


async def test_without_a_broker_the_process_lives_and_is_not_ready(
    client: httpx.AsyncClient,
) -> None:
    assert (await client.get("/healthz")).json() == {"status": "alive"}
    response = await client.get("/readyz")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "2"
    problem = response.json()
    assert "not running" in problem["detail"]
    assert "oncegate broker" in problem["mend"]


async def test_with_a_broker_the_process_is_ready(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    response = await client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {"status": "ready", "broker_state": "running"}


async def test_a_broker_that_does_not_answer_is_503_and_health_goes_on_meanwhile(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.silent = True
    ready = asyncio.create_task(client.get("/readyz"))
    assert (await client.get("/healthz")).status_code == 200
    assert not ready.done()
    response = await ready
    assert response.status_code == 503
    assert "did not answer within 2 seconds" in response.json()["detail"]


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


async def test_nothing_can_be_changed(client: httpx.AsyncClient, broker: ContractBroker) -> None:
    methods = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
    paths = ("/", "/api/v1/status", "/api/v1/sessions/phone")
    for method, path in itertools.product(methods, paths):
        response = await client.request(method, path)
        assert response.status_code == 405
        assert response.headers["content-type"] == "application/problem+json"
    assert broker.requests == []


async def test_only_commands_that_ask_are_ever_sent(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for path in ("/", "/session?client_id=phone", "/api/v1/status", "/api/v1/sessions/kick"):
        await client.get(path)
    assert {request["command"] for request in broker.requests} == {
        "status",
        "reports",
        "sessions",
        "session",
    }


async def test_every_answer_is_shielded(client: httpx.AsyncClient, broker: ContractBroker) -> None:
    for path in ("/", "/docs", "/api/v1/status", "/nothing", "/assets/page.css"):
        headers = (await client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers
        if not path.startswith("/assets/"):
            assert headers["cache-control"] == "no-store"


async def test_a_page_on_loopback_is_not_told_to_a_stranger_under_another_name(
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


async def test_a_name_is_no_reason_to_refuse_where_the_network_may_read(
    client: httpx.AsyncClient, broker: ContractBroker, status_socket: Path
) -> None:
    app = create_app(ApiSettings(bind="0.0.0.0", status_socket=status_socket))  # noqa: S104
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://gateway.lan",
            timeout=DEADLINE_SECONDS,
        ) as elsewhere,
    ):
        assert (await elsewhere.get("/api/v1/status")).status_code == 200
