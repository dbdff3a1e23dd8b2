"""What the page asks the broker about its users, and what a slow broker makes wait."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api import limits
from api.accounts import Accounts, TooManyLogins
from api.control_socket import BrokerProblem
from api.logins import Login, Logins
from api.roles import Role
from tests.api.contract_broker import ContractBroker
from tests.peers.control_server import refusal, result

CLIENT = ("192.0.2.7", 40_000)


@pytest.fixture
async def accounts(status_socket: Path, broker: ContractBroker) -> AsyncIterator[Accounts]:
    broker.users = {"anna": ("secret", "1")}
    accounts = Accounts(status_socket)
    yield accounts
    accounts.close()


def login_of(version: str, confirmed: float) -> Login:
    login = Logins().begin("anna", Role.VIEWER, version, confirmed)[1]
    login.confirmed = confirmed
    return login


async def test_the_broker_is_asked_with_the_address_as_its_connections_have_it(
    accounts: Accounts, broker: ContractBroker
) -> None:
    assert await accounts.check("anna", "secret", CLIENT) == ("anna", "1")
    assert await accounts.check("anna", "wrong", ("2001:db8::1", 1)) is None
    addresses = [request["address"] for request in broker.of("authenticate")]
    assert addresses == ["192.0.2.7:40000", "[2001:db8::1]:1"]


async def test_one_address_has_no_more_under_way_than_its_share_and_others_go_on(
    accounts: Accounts, broker: ContractBroker
) -> None:
    broker.silent = True
    waiting = [
        asyncio.create_task(accounts.check("anna", "x", CLIENT))
        for _ in range(limits.LOGIN_CHECKS_PER_ADDRESS_MAX)
    ]
    async with asyncio.timeout(10):
        while broker.count_of("authenticate") < len(waiting):  # noqa: ASYNC110
            await asyncio.sleep(0)
    with pytest.raises(TooManyLogins):
        await accounts.check("anna", "secret", CLIENT)
    broker.silent = False
    assert await accounts.check("anna", "secret", ("192.0.2.8", 1)) == ("anna", "1")
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await accounts.check("anna", "secret", CLIENT) == ("anna", "1"), "the places are free"


async def test_all_addresses_together_are_bounded(
    accounts: Accounts, broker: ContractBroker
) -> None:
    broker.silent = True
    waiting = [
        asyncio.create_task(accounts.check("anna", "x", (f"192.0.2.{index}", 1)))
        for index in range(limits.LOGIN_CHECKS_MAX)
    ]
    await asyncio.sleep(0)
    with pytest.raises(TooManyLogins):
        await accounts.check("anna", "secret", ("198.51.100.1", 1))
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_an_answer_that_is_none_is_a_problem_and_no_login(
    accounts: Accounts, broker: ContractBroker
) -> None:
    answers = (
        result({"ok": True}),
        result({"ok": True, "username": 7, "version": None}),
        result({}),
        refusal("unknown_command", "an older broker"),
    )
    for answer in answers:
        broker.instead = lambda _, answer=answer: answer
        with pytest.raises(BrokerProblem, match="cannot be asked about users"):
            await accounts.check("anna", "secret", CLIENT)


async def test_a_login_holds_while_the_broker_knows_the_same_password(
    accounts: Accounts, broker: ContractBroker
) -> None:
    now = time.monotonic()
    old = now - limits.LOGIN_CONFIRMED_SECONDS
    assert await accounts.still_holds(login_of("other", now), now), "asked a moment ago"
    assert broker.count_of("user") == 0
    login = login_of("1", old)
    assert await accounts.still_holds(login, now)
    assert login.confirmed == now
    assert not await accounts.still_holds(login_of("other", old), now)
    broker.users.clear()
    assert not await accounts.still_holds(login_of("1", old), now)
    await broker.stop()
    assert await accounts.still_holds(login_of("1", old), now), "the page says that it is down"
