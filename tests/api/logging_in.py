"""A browser that logs in on a page with users."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from api.login.roles import Role
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker

PASSWORD = "secret"  # noqa: S105
ROLES = {"anna": Role.VIEWER, "ben": Role.OPERATOR, "carl": Role.ADMINISTRATOR}
USERS = {name: (PASSWORD, f"version of {name}") for name in (*ROLES, "sensor")}
"""The contract broker's users. `sensor` has no role on the page."""


@asynccontextmanager
async def page_with_users(
    broker: ContractBroker, status_socket: Path, **settings: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Run a page with users, and yield a browser that is not logged in."""
    broker.users = dict(USERS)
    settings = {"roles": ROLES} | settings
    async with (
        serving(status_socket, **settings) as url,
        httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as browser,
    ):
        yield browser


def origin_of(browser: httpx.AsyncClient) -> str:
    return str(browser.base_url).rstrip("/")


def token_in(html: str) -> str:
    """Return the hidden token in the page's first form, which the browser has to send back."""
    found = re.search(r'name="token" value="([^"]+)"', html)
    assert found is not None, html
    return found[1]


async def log_in(
    browser: httpx.AsyncClient,
    username: str = "anna",
    password: str = PASSWORD,
    *,
    onward: str = "/",
    origin: str | None = None,
) -> httpx.Response:
    """Submit the login form, and return the response without following a redirect."""
    form = await browser.get("/login", params={"next": onward})
    assert form.status_code == 200
    return await browser.post(
        "/login",
        data={
            "username": username,
            "password": password,
            "token": token_in(form.text),
            "next": onward,
        },
        headers={"Origin": origin or origin_of(browser)},
    )


async def is_in(browser: httpx.AsyncClient) -> bool:
    """Return True if the page is shown, so that the browser is logged in."""
    return (await browser.get("/")).status_code == 200
