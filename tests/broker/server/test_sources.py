"""Tokens of a real provider: which users they admit, for how long, and with which rights."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.passwords.file import set_password
from gateway.broker.access.tokens import provider_keys
from gateway.broker.access.tokens.users import TokenUsers
from gateway.broker.server.main import RunningBroker
from gateway.broker.server.sources import token_users_of
from gateway.broker.server.starting import other_sources_of
from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Connect,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)
from gateway.configuration import Configuration, load
from gateway.configuration.jwt import Jwt
from tests.broker.access.authority import Authority
from tests.broker.server.event_loop.authenticating import Broker, is_alive
from tests.broker.server.reloading_broker import eventually
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.identity_provider import AUDIENCE, IdentityProvider, signer
from tests.peers.packet_client import PacketClient

METHOD = "OAUTHBEARER"
RULES = "group writers =\nallow group writers publish w/#\nallow user * subscribe r/#\n"


@pytest_asyncio.fixture
async def broker(tmp_path: Path, provider: IdentityProvider) -> AsyncIterator[Broker]:
    passwords, rules = tmp_path / "passwords", tmp_path / "rules"
    set_password(passwords, "local", b"secret")
    rules.write_text(RULES)
    jwt = {"issuer": provider.url, "audience": AUDIENCE, "groups_claim": "scope", "leeway": "0s"}
    settings = {
        "gateway.data_dir": tmp_path / "data",
        "mqtt.connect_timeout": f"{DEADLINE_SECONDS:g}s",
        "access.password_file": passwords,
        "access.rules_file": rules,
        "access.jwt": jwt,
        "listeners": [{"port": 0, "anonymous": False}],
    }
    running = await RunningBroker.start(load(None, {}, settings, None), None)
    stop = asyncio.Event()
    ticking = asyncio.create_task(running.until(stop))
    yield Broker(running, passwords)
    stop.set()
    await ticking
    await running.stop()
    assert running.event_loop.committer.failure is None


def bearer(token: str) -> bytes:
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


async def log_in(client: PacketClient, token: str, username: str | None = None) -> int:
    packet = Connect(client.version, "c", True, 0, None, username, token.encode())
    client.send(packet)
    connack = await client.receive()
    assert isinstance(connack, Connack)
    return connack.reason_code


async def test_a_token_in_place_of_the_password_lets_its_user_in(
    broker: Broker, provider: IdentityProvider
) -> None:
    async with await broker.open() as client:
        assert await log_in(client, provider.token()) == 0
        (connection,) = broker.connections()
        assert connection.username == "anna"
    streams = await asyncio.open_connection("127.0.0.1", broker.port)
    async with PacketClient(*streams, version=4) as older:
        assert await log_in(older, provider.token(), "whatever") == 0
    async with await broker.open() as client:
        assert await log_in(client, provider.token(aud="another")) == 0x87
    async with await broker.open() as client:
        assert await log_in(client, "secret", "local") == 0


async def test_an_expired_token_ends_the_connection(
    broker: Broker, provider: IdentityProvider
) -> None:
    async with await broker.open() as client:
        # The claim has whole seconds, so this token expires after one to two seconds.
        assert await log_in(client, provider.token(seconds=2)) == 0
        assert await client.ending() == 0xA0
    await broker.quiet()
    assert broker.errors == {"credentials_expired": 1}


async def test_a_new_token_in_auth_lets_the_client_stay(
    broker: Broker, provider: IdentityProvider
) -> None:
    async with await broker.open() as client:
        first = time.time()
        client.connect(bearer(provider.token(seconds=2)), method=METHOD)
        connack = await client.receive()
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0
        client.auth(0x19, bearer(provider.token(seconds=60)), method=METHOD)
        answer = await client.receive()
        assert isinstance(answer, Auth)
        assert answer.reason_code == 0
        await asyncio.sleep(max(0.0, first + 2.1 - time.time()))  # the first token has expired
        assert await is_alive(client)
        client.auth(0x19, bearer(provider.token(sub="ben")), method=METHOD)
        assert await client.ending() == 0x87


async def test_scopes_are_groups_of_the_access_rules(
    broker: Broker, provider: IdentityProvider
) -> None:
    async with await broker.open() as client:
        client.connect(bearer(provider.token(scope="writers")), method=METHOD)
        await client.receive()
        client.send(Publish("w/1", b"x", 1, False, False, 1))
        assert getattr(await client.receive(), "reason_code", None) == 0x10
        client.auth(0x19, bearer(provider.token(scope="readers")), method=METHOD)
        await client.receive()
        client.send(Publish("w/1", b"x", 1, False, False, 2))
        assert getattr(await client.receive(), "reason_code", None) == 0x87
        client.send(Subscribe(3, [Subscription("r/1", 0)]))
        suback = await client.receive()
        assert isinstance(suback, Suback)
        assert suback.reason_codes == [0]


async def test_a_provider_that_hangs_keeps_no_other_client_waiting(
    broker: Broker, provider: IdentityProvider
) -> None:
    provider.may_answer.clear()
    async with await broker.open() as waiting, await broker.open() as other:
        waiting.send(Connect(5, "c1", True, 0, None, None, provider.token().encode()))
        assert await log_in(other, "secret", "local") == 0
        provider.may_answer.set()
        connack = await waiting.receive()
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0


async def test_a_provider_that_is_down_is_counted_and_the_client_may_try_again(
    broker: Broker, provider: IdentityProvider
) -> None:
    provider.documents["/.well-known/openid-configuration"] = 503
    async with await broker.open() as client:
        assert await log_in(client, provider.token()) == 0x88
    await broker.quiet()
    assert broker.errors == {"users_unavailable": 1}


def configured(**jwt: Any) -> Configuration:
    table = {"issuer": "https://login.example", "audience": "a"} | jwt
    return load(None, {}, {"access.jwt": table}, None)


def test_files_that_cannot_be_used_are_refused_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(AccessFileError, match=r"\[access.jwt\] jwks_file: .*cannot be read"):
        other_sources_of(configured(jwks_file=str(tmp_path / "missing")))
    with pytest.raises(AccessFileError, match=r"\[access.jwt\] ca: .*no certificates"):
        other_sources_of(configured(ca=str(tmp_path / "missing")))
    (tmp_path / "keys").write_text('{"keys": []}')
    jwt = configured(jwks_file=str(tmp_path / "keys")).access.jwt
    assert isinstance(jwt, Jwt)
    token_users_of(jwt).close()


async def test_a_token_of_a_person_at_the_page_has_groups_an_end_and_a_version(
    broker: Broker, provider: IdentityProvider
) -> None:
    people = broker.running.control.logins
    where = {"username": "typed", "address": "192.0.2.7:40000"}
    found = await people.authenticate(where | {"password": provider.token(scope="b a")})
    assert (found["username"], found["source"], found["groups"]) == ("anna", "jwt", ["a", "b"])
    assert 0 < found["seconds"] <= 60
    version = (await people.user(where | {"source": "jwt"}))["version"]
    assert version == found["version"]
    expired = provider.token(seconds=-60)
    assert not (await people.authenticate(where | {"password": expired}))["ok"]


async def test_a_key_that_the_provider_withdraws_ends_the_connections_of_its_tokens(
    broker: Broker, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_keys, "FETCH_PAUSE_SECONDS", 0.0)
    provider.signers.append(signer("second"))
    source = broker.running.event_loop.authentications.sources["jwt"]
    assert isinstance(source, TokenUsers)
    async with await broker.open() as first, await broker.open() as second:
        assert await log_in(first, provider.token()) == 0
        token = provider.token(by=provider.signers[1]).encode()
        second.send(Connect(5, "d", True, 0, None, None, token))
        await second.receive()
        withdrawn = provider.signers.pop(0)
        provider.documents["/keys"] = 500
        source._keys.cache_seconds = 0.0  # the minimum of a minute is too long for a test
        broker.running.event_loop.authentications.proofs._due.clear()
        fetched = len(provider.asked)
        await eventually(lambda: len(provider.asked) >= fetched + 4)
        assert await is_alive(first), "a provider that is down withdraws nothing"
        del provider.documents["/keys"]
        assert await first.ending() == 0x87
        assert await is_alive(second)
    assert broker.errors["credentials_revoked"] == 1
    async with await broker.open() as again:
        assert await log_in(again, provider.token(by=withdrawn)) == 0x87


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_tokens_count_whose_provider_the_authority_in_ca_vouches_for(
    tmp_path: Path, is_trusted: bool
) -> None:
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.issue("provider", alternatives="DNS:localhost"))
    provider = IdentityProvider(context)
    ca = authority.ca if is_trusted else other.ca
    settings = {
        "gateway.data_dir": tmp_path / "data",
        "mqtt.connect_timeout": f"{DEADLINE_SECONDS:g}s",
        "access.jwt": {"issuer": provider.url, "audience": AUDIENCE, "ca": str(ca)},
        "listeners": [{"port": 0, "anonymous": False}],
    }
    running = await RunningBroker.start(load(None, {}, settings, None), None)
    broker = Broker(running, tmp_path / "passwords")
    async with await broker.open() as client:
        assert await log_in(client, provider.token()) == (0 if is_trusted else 0x88)
    assert any("verify failed" in each for each in running.event_loop.authentications.problems) is (
        not is_trusted
    )
    await running.stop()
    provider.stop()
