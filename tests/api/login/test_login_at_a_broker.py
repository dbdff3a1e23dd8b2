"""The page in front of a real broker, which has the users and checks their passwords."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from api import limits
from api.login.roles import Role
from gateway.broker.access.passwords.file import remove_user, set_password
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.logging_in import is_in, log_in
from tests.broker.server.reloading_broker import reloading_broker
from tests.broker.server.ruled_broker import PASSWORD, RuledBroker, eventually, running, slow_down
from tests.peers.identity_provider import AUDIENCE, IdentityProvider

ROLES = {"anna": Role.VIEWER, "ben": Role.VIEWER}


@asynccontextmanager
async def page_of(directory: Path) -> AsyncIterator[tuple[RuledBroker, httpx.AsyncClient]]:
    async with (
        running(directory) as broker,
        serving(directory / "data" / "status.sock", roles=ROLES) as url,
        httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as browser,
    ):
        yield broker, browser


@pytest.mark.parametrize("is_removed", [True, False])
async def test_a_user_of_the_broker_is_in_until_the_password_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_removed: bool
) -> None:
    monkeypatch.setattr(limits, "LOGIN_CONFIRMED_SECONDS", 0.0)
    async with page_of(tmp_path) as (broker, browser):
        assert (await log_in(browser, "anna", "wrong")).status_code == 403
        assert (await log_in(browser, "anna", PASSWORD)).status_code == 303
        assert await is_in(browser)
        set_password(broker.users, "ben", b"other")
        broker.running.reloading.reload()
        assert await is_in(browser), "another user's password"
        if is_removed:
            remove_user(broker.users, "anna")
        else:
            set_password(broker.users, "anna", b"other")
        broker.running.reloading.reload()
        assert not await is_in(browser)


async def test_a_login_continues_when_the_broker_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOGIN_CONFIRMED_SECONDS", 0.0)
    async with page_of(tmp_path) as (broker, browser):
        await log_in(browser, "anna", PASSWORD)
        control = broker.running.control
        await control.stop()
        assert (await browser.get("/")).status_code == 503, "it sees that the broker is down"
        await control.start(broker.running.reloading.configuration)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not await is_in(browser):
                pass


async def test_while_a_password_waits_the_page_is_shown_to_others(tmp_path: Path) -> None:
    async with page_of(tmp_path) as (broker, browser):
        await log_in(browser, "ben", PASSWORD)
        slow_down(broker)
        async with httpx.AsyncClient(base_url=browser.base_url, timeout=DEADLINE_SECONDS) as other:
            waiting = asyncio.create_task(log_in(other, "slow", PASSWORD))
            await eventually(lambda: len(broker.running.control.logins._checks) == 1)
            assert await is_in(browser)
            assert not waiting.done()
            assert "[api] viewers" in (await waiting).text, "a user without a role"


async def test_a_token_of_the_provider_logs_in_with_the_role_of_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOGIN_CONFIRMED_SECONDS", 0.0)
    provider = IdentityProvider()
    jwt = {"issuer": provider.url, "audience": AUDIENCE, "groups_claim": "groups"}
    try:
        async with (
            reloading_broker(tmp_path, listeners=[{"port": 0}], access__jwt=jwt) as broker,
            serving(tmp_path / "data" / "status.sock", group_roles={"house": Role.VIEWER}) as url,
            httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as browser,
        ):
            refused = await log_in(browser, "anna", provider.token(groups=["other"]))
            assert "viewer_groups" in refused.text
            expired = await log_in(browser, "anna", provider.token(seconds=-60, groups=["house"]))
            assert "The name or the password is wrong" in expired.text
            right = provider.token(sub="auth0|7", groups=["other", "house"])
            assert (await log_in(browser, "what is typed", right)).status_code == 303
            assert await is_in(browser)
            broker.reload(access__jwt=jwt | {"audience": "another"})
            assert not await is_in(browser), "such tokens are not accepted any more"
    finally:
        provider.stop()
