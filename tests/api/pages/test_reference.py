"""The reference at /docs, and the OpenAPI description from which it is built."""

from pathlib import Path

import httpx
import pytest

from api import limits
from api.pages.reference import endpoints_of, schemas_of
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import log_in, page_with_users
from tests.api.page_reader import Reader

ACTIONS = {
    "/api/v1/kick",
    "/api/v1/ban",
    "/api/v1/lift-ban",
    "/api/v1/reload",
    "/api/v1/restart",
} | {
    "/api/v1/reboot",
    "/api/v1/alarms/acknowledge",
    "/api/v1/serial/detect",
    "/api/v1/serial/save",
    "/api/v1/serial/remove",
    "/api/v1/serial/undo",
    "/api/v1/topics/publish",
    "/api/v1/topics/clear",
    "/api/v1/users/password",
    "/api/v1/users/remove",
    "/api/v1/tokens/add",
    "/api/v1/tokens/remove",
    "/api/v1/network/change",
    "/api/v1/network/keep",
    "/api/v1/network/undo",
    "/api/v1/card/update",
    "/api/v1/card/back",
}
NEEDS_A_NAME = {"/api/v1/session", "/api/v1/sessions/{client_id}", "/api/v1/history"} | {
    "/api/v1/serial/frames",
    "/api/v1/serial/home-assistant",
    "/api/v1/serial/progress",
    "/api/v1/serial/sensor",
}
STREAM = "/api/v1/events/stream"
PATHS = ACTIONS | {
    STREAM,
    "/api/v1/alarms",
    "/api/v1/bans",
    "/api/v1/events",
    "/api/v1/configuration",
    "/api/v1/status",
    "/api/v1/sessions",
    "/api/v1/card",
    "/api/v1/history",
    "/api/v1/history/series",
    "/api/v1/network",
    "/api/v1/session",
    "/api/v1/sessions/{client_id}",
    "/api/v1/serial",
    "/api/v1/serial/home-assistant",
    "/api/v1/serial/ports",
    "/api/v1/serial/frames",
    "/api/v1/serial/progress",
    "/api/v1/serial/sensor",
    "/api/v1/tokens",
    "/api/v1/topics",
    "/api/v1/uplink",
    "/api/v1/upload",
    "/api/v1/users",
    "/healthz",
    "/readyz",
}


async def test_every_endpoint_is_described_with_its_answers(client: httpx.AsyncClient) -> None:
    description = (await client.get("/openapi.json")).json()
    assert set(description["paths"]) == PATHS
    for path, operations in description["paths"].items():
        ((method, operation),) = operations.items()
        assert method == ("post" if path in ACTIONS else "get")
        assert operation["summary"]
        assert operation["description"]
        content = operation["responses"]["200"]["content"]
        if path == STREAM:
            assert set(content) == {"text/event-stream"}
        else:
            assert "$ref" in content["application/json"]["schema"]
        if path in ACTIONS:
            assert "$ref" in operation["requestBody"]["content"]["application/json"]["schema"]


async def test_the_reference_shows_all_of_it_and_works_without_a_script(
    client: httpx.AsyncClient,
) -> None:
    description = (await client.get("/openapi.json")).json()
    page = Reader((await client.get("/docs")).text)
    for path in PATHS:
        assert path in page.words
    ids = {found["id"] for _, found in page.elements if "id" in found}
    links = {
        (found["href"] or "")[1:]
        for tag, found in page.elements
        if tag == "a" and (found["href"] or "").startswith("#")
    }
    assert links <= ids
    assert set(description["components"]["schemas"]) <= ids
    assert all(tag != "script" for tag, _ in page.elements)


async def test_a_parameter_and_a_schema_list_the_values_of_an_enumeration(
    client: httpx.AsyncClient,
) -> None:
    description = (await client.get("/openapi.json")).json()
    (sessions,) = (each for each in endpoints_of(description) if each.path == "/api/v1/sessions")
    types = {each.name: each.type for each in sessions.parameters}
    assert types["state"] == "all or connected or away or drops"
    values = [field.name for field in schemas_of(description)["State"]]
    assert values == ["all", "connected", "away", "drops"]


async def test_what_can_be_tried_leads_to_an_answer(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVENT_STREAM_SECONDS", 0.0)
    page = Reader((await client.get("/docs")).text)
    tried = [
        found["href"] or ""
        for tag, found in page.elements
        if tag == "a" and found.get("class") == "try"
    ]
    assert set(tried) == PATHS - ACTIONS - NEEDS_A_NAME
    for address in tried:
        # There is no broker here, and this machine does not run from an SD card.
        no_users = dict.fromkeys(
            ("/api/v1/serial/ports", "/api/v1/users", "/api/v1/tokens", "/api/v1/network"), (403,)
        )
        wanted = {"/api/v1/card": (404,), **no_users}.get(address, (200, 503))
        assert (await client.get(address)).status_code in wanted, address


async def test_where_users_log_in_it_states_how_programs_do(
    client: httpx.AsyncClient, broker: ContractBroker, status_socket: Path
) -> None:
    assert "Bearer" not in (await client.get("/docs")).text
    assert "securitySchemes" not in (await client.get("/openapi.json")).text
    async with page_with_users(broker, status_socket) as browser:
        await log_in(browser)
        assert "Authorization: Bearer TOKEN" in (await browser.get("/docs")).text
        description = (await browser.get("/openapi.json")).json()
        assert description["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
        secured = {
            path: all(operation["security"] for operation in operations.values())
            for path, operations in description["paths"].items()
        }
        assert [path for path, is_secured in secured.items() if not is_secured] == [
            "/healthz",
            "/readyz",
        ]
