"""Tokens as a source of users: in place of a password, and by OAUTHBEARER."""

from collections.abc import Iterator

import pytest

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.access.tokens.fetching import Fetcher
from gateway.broker.access.tokens.provider_keys import ProviderKeys, from_url
from gateway.broker.access.tokens.users import TokenUsers
from gateway.broker.access.tokens.verification import TokenRules
from gateway.broker.core.effects import AuthenticationAnswer
from tests.peers.identity_provider import AUDIENCE, IdentityProvider, signer


@pytest.fixture
def checks() -> Iterator[Checks]:
    made = Checks(Guesses())
    yield made
    made.close()


@pytest.fixture
def users(provider: IdentityProvider) -> Iterator[TokenUsers]:
    keys = ProviderKeys(
        from_url(f"{provider.url}/keys", Fetcher(5)), cache_seconds=3600, keep_seconds=3600
    )
    rules = TokenRules(issuer=provider.url, audience=AUDIENCE, groups_claim="scope")
    made = TokenUsers(rules, keys)
    yield made
    made.close()


def login(password: str, username: str = "whatever") -> Login:
    return Login(username, password.encode(), address="192.0.2.7:1")


async def test_a_token_in_place_of_a_password_names_the_user(
    provider: IdentityProvider, users: TokenUsers, checks: Checks
) -> None:
    answer = await users.check(login(provider.token(scope="read write")), checks)
    assert answer is not None
    assert (answer.reason_code, answer.username) == (0, "anna")
    assert answer.groups == {"read", "write"}
    assert answer.lifetime_seconds is not None
    assert 60 < answer.lifetime_seconds <= 70, "leeway included"


async def test_a_password_is_left_to_other_sources(users: TokenUsers, checks: Checks) -> None:
    assert await users.check(login("secret"), checks) is None
    assert await users.check(Login("anna", None), checks) is None


async def test_a_token_that_does_not_hold_is_refused_with_a_reason(
    provider: IdentityProvider, users: TokenUsers, checks: Checks
) -> None:
    for token, reason in (
        (provider.token(seconds=-60), "token: it has expired"),
        (provider.token(aud="another"), "token: its audience is another"),
        (provider.token(by=signer("unknown")), "token: the provider has no key"),
        (provider.token(by=signer("first")), "token: its signature is wrong"),
    ):
        answer = await users.check(login(token), checks)
        assert answer is not None
        assert (answer.reason_code, answer.username) == (0x87, None)
        assert reason in answer.detail
        assert token not in answer.detail


async def test_without_the_provider_s_keys_the_client_may_try_again(
    provider: IdentityProvider, users: TokenUsers, checks: Checks
) -> None:
    provider.documents["/keys"] = 503
    answer = await users.check(login(provider.token()), checks)
    assert answer is not None
    assert answer.reason_code == 0x88
    assert "answered 503" in answer.detail
    assert users.problem is not None
    assert "the identity provider's keys: http://127.0.0.1" in users.problem


async def exchange(users: TokenUsers, checks: Checks, data: bytes) -> AuthenticationAnswer:
    return await users.begin(Login("", None, address="192.0.2.7:1"), checks).step(data)


async def test_oauthbearer_is_one_message(
    provider: IdentityProvider, users: TokenUsers, checks: Checks
) -> None:
    token = provider.token()
    for data in (
        f"n,,\x01auth=Bearer {token}\x01\x01",
        f"n,a=anna,\x01host=gateway\x01port=1883\x01auth=Bearer {token}\x01\x01",
    ):
        answer = await exchange(users, checks, data.encode())
        assert (answer.reason_code, answer.username) == (0, "anna")
    other = await exchange(users, checks, f"n,a=ben,\x01auth=Bearer {token}\x01\x01".encode())
    assert (other.reason_code, other.username) == (0x87, None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"n,,",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Basic x\x01\x01",
        b"p=tls-exporter,,\x01auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=Bearer secret\x01\x01",
        b"\x01" * 100_000,
        b"n,," + b"\x01a=b" * 5_000,
        b"\xff\xfe",
    ],
)
async def test_another_message_is_refused(users: TokenUsers, checks: Checks, data: bytes) -> None:
    answer = await exchange(users, checks, data)
    assert answer.reason_code == 0x87
    assert "OAUTHBEARER" in answer.detail


async def test_a_token_that_does_not_hold_is_no_guess(
    provider: IdentityProvider, users: TokenUsers, checks: Checks
) -> None:
    expired = provider.token(seconds=-60)
    answer = await exchange(users, checks, f"n,,\x01auth=Bearer {expired}\x01\x01".encode())
    assert answer.reason_code == 0x87
    assert not checks.guesses.is_suspect(checks.guesses.keys_of("192.0.2.7", ""))
