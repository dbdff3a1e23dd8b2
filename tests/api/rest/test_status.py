"""The REST interface through a real server and a real HTTP client."""

import asyncio
import itertools
from urllib.parse import quote

import httpx

from tests.api import recorded, recorded_topics
from tests.api.contract_broker import ContractBroker

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
    reported = response.json()
    assert reported["listeners"][0].pop("path") is None
    assert reported["listeners"][0].pop("certificate") is None
    assert reported == recorded.status()


async def test_the_serial_report_has_every_port_device_and_quantity_unrounded(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    reported = (await client.get("/api/v1/serial")).json()
    expected = recorded.bridge_status() | {"home_assistant": recorded_topics.discovery()}
    for port in expected["ports"]:
        port["unreadable"] = []
        for device in port["devices"]:
            device["unreadable"] = []
            for quantity in device["quantities"]:
                quantity["unreadable"] = []
    assert reported == {
        "time_ms": recorded.NOW_MS - 600,
        "age_seconds": 0.6,
        "problem": None,
        "status": expected,
    }


async def test_the_upload_report_is_the_uploaders_own_words(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    reported = (await client.get("/api/v1/upload")).json()
    assert reported["status"] == recorded.uploader_status()


async def test_the_uplinks_report_is_its_own_words_where_there_is_one(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.reports["uplink"] = {
        "time_ms": recorded.NOW_MS - 600,
        "age_seconds": 0.6,
        "status": recorded.uplink_status(),
    }
    reported = (await client.get("/api/v1/uplink")).json()
    assert reported["status"] == recorded.uplink_status()


async def test_without_an_uplink_its_report_is_null(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    assert (await client.get("/api/v1/uplink")).json()["status"] is None


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


async def test_any_client_id_reaches_its_own_session_and_no_other(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    # For each id there is also the session that a careless server would confuse with it.
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


async def test_a_broker_that_does_not_answer_is_503_and_health_continues_meanwhile(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.silent = True
    ready = asyncio.create_task(client.get("/readyz"))
    assert (await client.get("/healthz")).status_code == 200
    assert not ready.done()
    response = await ready
    assert response.status_code == 503
    assert "did not answer within 2 seconds" in response.json()["detail"]


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
    for path in (
        "/",
        "/clients",
        "/session?client_id=phone",
        "/api/v1/status",
        "/api/v1/sessions/kick",
    ):
        await client.get(path)
    assert {request["command"] for request in broker.requests} == {
        "status",
        "reports",
        "sessions",
        "session",
        "events",
    }


async def test_a_device_s_state_in_home_assistant_is_returned(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    answer = await client.get("/api/v1/serial/home-assistant", params={"device": "board-0000002a"})
    assert answer.json()["verdict"] == "available"
    assert answer.json()["entities"][0]["state_class"] == "measurement"
    answer = await client.get("/api/v1/serial/home-assistant", params={"device": "none"})
    assert answer.status_code == 404
