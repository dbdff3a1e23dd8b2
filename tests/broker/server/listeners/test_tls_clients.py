"""Users that client certificates prove, and certificates that are refused."""

import asyncio
import ssl
import struct
from pathlib import Path

import pytest

from gateway.broker.core.permissions import AccessRules
from gateway.broker.core.permissions import Client as RulesClient
from gateway.broker.server.listeners.proxy_header import SIGNATURE
from tests.broker.access.authority import Authority
from tests.broker.server.conftest import Start
from tests.broker.server.listeners.tls_site import Site
from tests.peers.mqtt_bytes import connect

PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"
PROXIED = SIGNATURE + bytes.fromhex("2111000c") + bytes([192, 0, 2, 7, 10, 0, 0, 1])
PROXIED += struct.pack(">HH", 40_000, 8883)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("tls") / "ca")


async def test_a_certificate_is_the_user_whatever_the_packet_names(
    start: Start, site: Site, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    users.touch(0o600)
    broker = await start({"tls": site.mutual()}, PLAIN, users=users)
    seen: list[tuple[str, str | None]] = []

    class Rules(AccessRules):
        def may_connect(self, client: RulesClient) -> bool:
            seen.append((client.client_id, client.username))
            return True

    broker.running.event_loop.broker.restrict(Rules())
    for name, username in (("a", None), ("b", "roof")):
        client = await broker.open(0, site.client("cellar"))
        client.send(connect(name, username=username, password=None if username is None else b"x"))
        assert (await client.packet())[3] == 0
    assert seen == [("a", "cellar"), ("b", "cellar")]
    sessions = broker.running.event_loop.broker.state.sessions
    assert {each.username for each in sessions.values()} == {"cellar"}


async def test_without_a_certificate_the_handshake_fails_where_one_is_required(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.mutual()}, PLAIN)
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        await (await broker.open(0, site.client())).log_in("a")
    assert broker.errors == {"tls_client_certificate": 1}


async def test_a_certificate_of_another_authority_is_refused(
    start: Start, site: Site, tmp_path: Path
) -> None:
    broker = await start({"tls": site.mutual()}, PLAIN)
    context = site.client()
    context.load_cert_chain(*Authority(tmp_path / "other").issue("cellar", client=True))
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        await (await broker.open(0, context)).log_in("a")
    assert broker.errors == {"tls_client_certificate": 1}


async def test_a_servers_certificate_is_no_clients(start: Start, site: Site) -> None:
    broker = await start({"tls": site.mutual()}, PLAIN)
    context = site.client()
    context.load_cert_chain(site.certificate, site.key)
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        await (await broker.open(0, context)).log_in("a")
    assert broker.errors == {"tls_client_certificate": 1}


async def test_a_certificate_without_a_name_is_refused(start: Start, site: Site) -> None:
    broker = await start({"tls": site.mutual()}, PLAIN)
    client = await broker.open(0, site.client("nameless"))
    assert await client.rest() == b""
    assert broker.errors == {"tls_client_certificate": 1}


async def test_a_revoked_certificate_is_refused(start: Start, site: Site) -> None:
    broker = await start({"tls": site.mutual(crl=str(site.crl))}, PLAIN)
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        await (await broker.open(0, site.client("roof"))).log_in("a")
    assert broker.errors == {"tls_client_certificate": 1}
    assert await (await broker.open(0, site.client("cellar"))).log_in("a") == 0


async def test_an_optional_certificate_proves_a_user_and_without_one_others_rules_hold(
    start: Start, site: Site
) -> None:
    tls = site.mutual(client_certificates="optional")
    broker = await start({"tls": tls}, PLAIN)
    assert await (await broker.open(0, site.client("cellar"))).log_in("a") == 0
    assert await (await broker.open(0, site.client())).log_in("b") == 0
    named = await broker.open(0, site.client())
    named.send(connect("c", username="cellar", password=b""))
    assert (await named.packet())[3] == 4, "a name without a proof is none"
    sessions = broker.running.event_loop.broker.state.sessions
    assert {name: each.username for name, each in sessions.items()} == {"a": "cellar", "b": None}


async def test_with_username_none_a_certificate_opens_the_connection_and_names_no_user(
    start: Start, site: Site
) -> None:
    broker = await start({"tls": site.mutual(username="none")}, PLAIN)
    assert await (await broker.open(0, site.client("cellar"))).log_in("a") == 0
    assert broker.running.event_loop.broker.state.sessions["a"].username is None
