"""Requests from the page to the broker about users, and waiting for a slow broker."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api import limits
from api.login.accounts import Account, Accounts, TooManyLogins
from api.login.logins import Login, Logins, Proof
from api.login.roles import Role
from api.status.control_socket import BrokerProblem
from tests.api.contract_broker import ContractBroker
from tests.peers.control_server import refusal, result

CLIENT = ("192.0.2.7", 40_000)
ANNA = Account(
    "anna", frozenset(), Proof("anna", "192.0.2.7:40000", "password_file", "1"), seconds=None
)
WHOLE = {
    "ok": True,
    "username": "anna",
    "source": "mysql",
    "version": "1",
    "groups": ["cellar"],
    "seconds": 60,
}
BENT = (
    ("username", 7),
    ("source", None),
    ("version", None),
    ("groups", "cellar"),
    ("groups", ["cellar", 7]),
    ("seconds", "60"),
)


@pytest.fixture
async def accounts(status_socket: Path, broker: ContractBroker) -> AsyncIterator[Accounts]:
    broker.users = {"anna": ("secret", "1")}
    accounts = Accounts(status_socket)
    yield accounts
    accounts.close()


def login_of(version: str, confirmed: float) -> Login:
    proof = Proof("anna", "192.0.2.7:40000", "password_file", version)
    login = Logins().begin("anna", Role.VIEWER, proof, confirmed)[1]
    login.confirmed = confirmed
    return login


async def test_the_broker_is_asked_with_the_address_as_its_connections_have_it(
    accounts: Accounts, broker: ContractBroker
) -> None:
    assert await accounts.check("anna", "secret", CLIENT) == ANNA
    assert await accounts.check("anna", "wrong", ("2001:db8::1", 1)) is None
    addresses = [request["address"] for request in broker.of("authenticate")]
    assert addresses == ["192.0.2.7:40000", "[2001:db8::1]:1"]


async def test_one_address_has_no_more_under_way_than_its_share_and_others_continue(
    accounts: Accounts, broker: ContractBroker
) -> None:
    broker.silent = True
    waiting = [
        asyncio.create_task(accounts.check("anna", "x", CLIENT))
        for _ in range(limits.LOGIN_CHECKS_PER_ADDRESS_MAX)
    ]
    async with asyncio.timeout(60):
        while broker.count_of("authenticate") < len(waiting):  # noqa: ASYNC110
            await asyncio.sleep(0)
    with pytest.raises(TooManyLogins):
        await accounts.check("anna", "secret", CLIENT)
    broker.silent = False
    assert await accounts.check("anna", "secret", ("192.0.2.8", 1)) is not None
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await accounts.check("anna", "secret", CLIENT) == ANNA, "the places are free"


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
        *(result(WHOLE | {key: value}) for key, value in BENT),
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
    assert await accounts.still_holds(login_of("1", old), now), "the page reports that it is down"


async def test_where_users_cannot_be_asked_about_no_one_comes_in_and_who_is_in_stays(
    accounts: Accounts, broker: ContractBroker
) -> None:
    broker.instead = lambda _: refusal("unavailable", "the database of users: no answer")
    with pytest.raises(BrokerProblem, match="cannot check users now"):
        await accounts.check("anna", "secret", CLIENT)
    now = time.monotonic()
    assert await accounts.still_holds(login_of("1", now - limits.LOGIN_CONFIRMED_SECONDS), now)


async def test_the_broker_is_asked_again_by_source_address_and_the_name_that_was_typed(
    accounts: Accounts, broker: ContractBroker
) -> None:
    broker.instead = lambda _: result(WHOLE)
    account = await accounts.check("ANNA", "secret", CLIENT)
    assert account is not None
    assert (account.username, account.groups, account.seconds) == (
        "anna",
        frozenset(["cellar"]),
        60,
    )
    login = Logins().begin("anna", Role.VIEWER, account.proof, 0.0)[1]
    assert await accounts.still_holds(login, limits.LOGIN_CONFIRMED_SECONDS)
    (asked,) = broker.of("user")
    assert asked == {
        "command": "user",
        "username": "ANNA",
        "source": "mysql",
        "address": "192.0.2.7:40000",
    }
