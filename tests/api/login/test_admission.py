"""Every route declares the role that it requires, and no one without the role gets a response."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from api import limits
from api.login.admission import COOKIE, Admission, Refusals
from api.login.roles import Role
from api.main import create_app
from api.rest.actions import FORM_TOKEN_HEADER
from api.settings import ApiSettings
from gateway.process.files.token_file import HEADER, new_token
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import ROLES, is_in, log_in, origin_of, page_with_users, token_in

FOR_EVERYONE = {
    "GET /healthz",
    "GET /readyz",
    "GET /assets/{name}",
    "GET /login",
    "POST /login",
    "POST /logout",
}
# Values for the parameters in a path, and queries that a route requires.
ADDRESSES = {
    "/assets/{name}": "/assets/page.css",
    "/api/v1/sessions/{client_id:client_id}": "/api/v1/sessions/phone",
    "/api/v1/session": "/api/v1/session?client_id=phone",
    "/api/v1/history": "/api/v1/history?series=a",
    "/actions/kick": "/actions/kick?client_id=phone",
    "/actions/lift-ban": "/actions/lift-ban?kind=user&value=x",
    "/session": "/session?client_id=phone",
}


def api_routes(routes: Sequence[Any]) -> Iterator[APIRoute]:
    """Yield all routes, including those of included routers.

    Other kinds of routes have no dependencies.
    """
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        else:
            yield from api_routes(route.original_router.routes)


def routes() -> dict[str, Role | None]:
    """Return the lowest role of each route. Asserts that each route declares exactly one."""
    app = create_app(ApiSettings(status_socket=Path("x")))
    found: dict[str, Role | None] = {}
    for route in api_routes(app.routes):
        admissions = [
            each.call for each in route.dependant.dependencies if isinstance(each.call, Admission)
        ]
        (admission,) = admissions
        for method in route.methods or ():
            found[f"{method} {route.path}"] = admission.least
    return found


def test_what_is_for_everyone_is_listed_here() -> None:
    assert {name for name, least in routes().items() if least is None} == FOR_EVERYONE
    assert len(routes()) > 15


async def asked(browser: httpx.AsyncClient, route: str, form_token: str = "") -> httpx.Response:
    """Request a route as the page's own scripts do, without a body."""
    method, _, path = route.partition(" ")
    headers = {"Origin": origin_of(browser), FORM_TOKEN_HEADER: form_token}
    return await browser.request(method, ADDRESSES.get(path, path), headers=headers)


async def test_without_a_login_every_other_route_answers_with_the_way_to_it(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        browser.cookies.set(COOKIE, "x" * 43)
        for route, least in routes().items():
            answer = await asked(browser, route)
            if least is None:
                assert answer.status_code in (200, 303, 415), route
            elif any(path in route for path in ("/api/", "/metrics", "/openapi.json")):
                assert answer.status_code == 401, route
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert answer.headers["content-type"] == "application/problem+json"
            else:
                assert answer.status_code == 303, route
                assert answer.headers["location"].startswith("/login"), route
        assert {request["command"] for request in broker.requests} <= {"status", "reports"}
        assert (await browser.get("/readyz")).status_code == 200


@pytest.mark.parametrize("username", list(ROLES))
async def test_each_role_has_the_routes_of_its_own_and_of_those_before(
    broker: ContractBroker,
    status_socket: Path,
    username: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "EVENT_STREAM_SECONDS", 0.0)
    async with page_with_users(broker, status_socket) as browser:
        assert (await log_in(browser, username)).status_code == 303
        token = token_in((await browser.get("/")).text)
        for route, least in routes().items():
            if least is not None:
                answer = await asked(browser, route, token)
                is_allowed = ROLES[username] >= least
                # 415: the body is missing. 422: the query is missing. 503: there is no socket for
                # operators.
                taken = (200, 404, 415, 422, 503)
                assert (answer.status_code in taken) is is_allowed, route
                assert (answer.status_code == 403) is not is_allowed, route
                if not is_allowed:
                    expected = f"{username} is {ROLES[username].word}; this is for {least.word}s"
                    assert expected in answer.json()["detail"]


SENSORS = (
    *("GET /api/v1/serial/ports", "GET /api/v1/serial/sensor", "GET /api/v1/serial/progress"),
    *("POST /api/v1/serial/detect", "POST /api/v1/serial/save"),
    *("POST /api/v1/serial/remove", "POST /api/v1/serial/undo"),
    *("GET /ports", "GET /ports/other", "GET /ports/detect", "POST /ports/detect"),
    *("GET /ports/new", "GET /ports/change", "POST /ports/save", "GET /ports/sensor"),
    *("GET /ports/frames", "GET /api/v1/serial/frames"),
    *("GET /ports/remove", "POST /ports/remove", "GET /ports/undo", "POST /ports/undo"),
)

NETWORK = [
    *(("system", verb) for verb in ("keep", "undo")),
    *(("api/v1", verb) for verb in ("change", "keep", "undo")),
]


def test_who_may_act_is_listed_here() -> None:
    found = {name: least for name, least in routes().items() if least not in (None, Role.VIEWER)}
    assert found == {
        "POST /api/v1/kick": Role.OPERATOR,
        "POST /api/v1/ban": Role.OPERATOR,
        "POST /api/v1/lift-ban": Role.OPERATOR,
        "POST /api/v1/reload": Role.ADMINISTRATOR,
        "POST /api/v1/restart": Role.ADMINISTRATOR,
        "POST /api/v1/reboot": Role.ADMINISTRATOR,
        "POST /api/v1/alarms/acknowledge": Role.OPERATOR,
        "POST /alarms/acknowledge": Role.OPERATOR,
        **dict.fromkeys(SENSORS, Role.OPERATOR),
        "GET /actions/kick": Role.OPERATOR,
        "POST /actions/kick": Role.OPERATOR,
        "GET /actions/ban": Role.OPERATOR,
        "POST /actions/ban": Role.OPERATOR,
        "GET /actions/lift-ban": Role.OPERATOR,
        "POST /actions/lift-ban": Role.OPERATOR,
        **dict.fromkeys(
            (
                *("GET /actions/publish", "POST /actions/publish", "POST /api/v1/topics/publish"),
                *("GET /actions/clear-retained", "POST /actions/clear-retained"),
                "POST /api/v1/topics/clear",
            ),
            Role.OPERATOR,
        ),
        **dict.fromkeys(
            (
                *("GET /users", "GET /api/v1/users", "GET /api/v1/tokens"),
                *("GET /users/password", "POST /users/password", "POST /api/v1/users/password"),
                *("GET /users/remove", "POST /users/remove", "POST /api/v1/users/remove"),
                *("GET /system/backup", "POST /system/backup"),
                *("GET /system/network", "GET /api/v1/network"),
                *("GET /system/network/change", "POST /system/network/change"),
                *(f"POST /{each}/network/{verb}" for each, verb in NETWORK),
                *("GET /system/update", "POST /api/v1/card/update", "POST /api/v1/card/back"),
                *("GET /system/update/install", "POST /system/update/install"),
                *("GET /system/update/back", "POST /system/update/back"),
                *("GET /tokens/add", "POST /tokens/add", "POST /api/v1/tokens/add"),
                *("GET /tokens/remove", "POST /tokens/remove", "POST /api/v1/tokens/remove"),
            ),
            Role.ADMINISTRATOR,
        ),
        "GET /actions/reload": Role.ADMINISTRATOR,
        "POST /actions/reload": Role.ADMINISTRATOR,
        "GET /actions/restart": Role.ADMINISTRATOR,
        "POST /actions/restart": Role.ADMINISTRATOR,
        "GET /actions/reboot": Role.ADMINISTRATOR,
        "POST /actions/reboot": Role.ADMINISTRATOR,
    }


async def test_without_users_no_action_is_taken(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    for route, least in routes().items():
        if least not in (None, Role.VIEWER):
            answer = await asked(client, route)
            assert answer.status_code == 403, route
            assert "[api] operators" in answer.json()["mend"]
    assert broker.requests == []


async def test_a_program_shows_a_token_and_a_wrong_one_is_not_made_good_by_a_cookie(
    broker: ContractBroker,
    status_socket: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    text, token = new_token("dashboard", "viewer", "2026-11-24")
    (tmp_path / "tokens").write_text(f"{HEADER}\n{token.line}\n")
    (tmp_path / "tokens").chmod(0o600)
    caplog.set_level(logging.DEBUG, "api")
    async with page_with_users(broker, status_socket, tokens_file=tmp_path / "tokens") as program:
        for scheme in ("Bearer", "bearer", "BEARER"):
            shown = {"Authorization": f"{scheme} {text}"}
            assert (await program.get("/api/v1/status", headers=shown)).status_code == 200
        await log_in(program)
        assert await is_in(program)
        for wrong in (f"Bearer {text}x", "Bearer", f"Basic {text}", text, "Bearer " + "x" * 5_000):
            answer = await program.get("/api/v1/status", headers={"Authorization": wrong})
            assert answer.status_code == 401, wrong[:20]
            page = await program.get("/", headers={"Authorization": wrong})
            assert page.status_code == 401
        (tmp_path / "tokens").write_text(f"{HEADER}\n")
        async with asyncio.timeout(60):
            while (await program.get("/api/v1/status", headers=shown)).status_code != 401:
                pass
    assert text not in caplog.text
    assert sum("a token from 127.0.0.1 is none" in each for each in caplog.messages) == 1


async def test_a_login_ends_with_the_password_within_seconds(
    broker: ContractBroker, status_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOGIN_CONFIRMED_SECONDS", 0.0)
    async with page_with_users(broker, status_socket) as browser:
        await log_in(browser)
        assert await is_in(browser)
        broker.users["ben"] = ("another", "version 2 of ben")
        assert await is_in(browser), "another user's password"
        broker.users["anna"] = ("another", "version 2 of anna")
        assert not await is_in(browser)
        broker.users["anna"] = ("secret", "version of anna")
        assert not await is_in(browser), "what has ended does not come back"
        await log_in(browser)
        del broker.users["anna"]
        assert (await browser.get("/api/v1/status")).status_code == 401


async def test_who_is_logged_in_sees_that_the_gateway_is_down(
    broker: ContractBroker, status_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOGIN_CONFIRMED_SECONDS", 0.0)
    async with page_with_users(broker, status_socket) as browser:
        await log_in(browser)
        await broker.stop()
        answer = await browser.get("/")
        assert answer.status_code == 503
        assert "The gateway is down" in answer.text


def test_one_line_in_each_span_names_how_many_had_none() -> None:
    refusals = Refusals()
    assert refusals.line_of("a login was refused", 0.0) == "a login was refused"
    for _ in range(1_500):
        assert refusals.line_of("a login was refused", 1.0) is None
    later = limits.REFUSALS_LOGGED_SECONDS
    assert refusals.line_of("x", later) == "x (1,500 more since the last such line)"
    assert refusals.line_of("x", 2 * later) == "x"
    assert refusals.count == 1_503
