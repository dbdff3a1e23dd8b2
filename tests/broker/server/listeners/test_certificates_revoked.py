"""Stored sessions of clients whose certificates are revoked while the clients are away."""

import os
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.certificates.listener import CertificateError
from gateway.broker.access.passwords.file import set_password
from gateway.broker.access.users.removed_file import FILE_NAME, load
from gateway.broker.core.sessions.session import Session
from gateway.broker.server import removed_users
from tests.broker.server.broker import Broker, running
from tests.broker.server.listeners.test_certificates import PLAIN, Site, look
from tests.peers.mqtt_bytes import Kind, connect, publish, subscribe

Run = Callable[[], AbstractAsyncContextManager[Broker]]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "ca")


@pytest.fixture
def run(tmp_path: Path, site: Site) -> Run:
    """Return a function that runs the broker, each time with the same data directory."""
    listeners: list[dict[str, Any]] = [{"tls": site.tls(), "protocol": "mqtt"}, PLAIN]

    users = tmp_path / "passwords"
    set_password(users, "roof", b"secret", scram_iterations=4_096)

    @asynccontextmanager
    async def begun() -> AsyncIterator[Broker]:
        async with asynccontextmanager(running)(tmp_path / "d", listeners, {}, users) as broker:
            yield broker

    return begun


def session(broker: Broker, client_id: str) -> Session:
    return broker.running.event_loop.broker.state.sessions[client_id]


async def store(broker: Broker, client_id: str, context: ssl.SSLContext) -> None:
    """Leave a stored session with a subscription, and disconnect."""
    client = await broker.open(0, context)
    assert await client.log_in(client_id, clean=False) == 0
    client.send(subscribe(1, ("t", 1)))
    assert (await client.packet())[0] >> 4 == Kind.SUBACK
    client.cut()
    await broker.eventually(lambda: session(broker, client_id).connection is None)


async def message(broker: Broker) -> None:
    """Publish one message and wait for its acknowledgement."""
    client = await broker.open(1)
    assert await client.log_in("publisher") == 0
    client.send(publish("t", b"x", qos=1, packet_id=1))
    assert (await client.packet())[0] >> 4 == Kind.PUBACK
    client.close()


def revoke(site: Site, name: str) -> None:
    site.authority.revoke(site.authority.folder / f"{name}.pem")
    site.authority.list_revoked()


def queued(broker: Broker, *client_ids: str) -> list[int]:
    return [session(broker, each).queued_count for each in client_ids]


async def test_a_stored_session_receives_nothing_from_the_list_on_also_after_a_restart(
    run: Run, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    async with run() as broker:
        for name in ("roof", "cellar"):
            await store(broker, name, site.client(name))
        await message(broker)
        assert queued(broker, "roof", "cellar") == [1, 1]
        revoke(site, "roof")
        look(broker)
        await message(broker)
        assert queued(broker, "roof", "cellar") == [1, 2], "what waits is kept"
        assert "the certificates of 1 stored sessions are revoked" in caplog.text
    for count in (3, 4):
        async with run() as broker:
            await message(broker)
            assert queued(broker, "roof", "cellar") == [1, count]


async def test_a_certificate_that_is_revoked_while_the_broker_is_away_counts_at_the_start(
    run: Run, site: Site
) -> None:
    async with run() as broker:
        for name in ("roof", "cellar"):
            await store(broker, name, site.client(name))
    revoke(site, "roof")
    async with run() as broker:
        await message(broker)
        assert queued(broker, "roof", "cellar") == [0, 1]


async def test_which_certificate_it_was_is_on_disk_soon_behind_the_login(
    run: Run, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removed_users, "CERTIFICATE_SECONDS", 0.1)
    kept = tmp_path / "d" / FILE_NAME
    async with run() as broker:
        await store(broker, "roof", site.client("roof"))
        await broker.eventually(lambda: {*load(kept).certificates} == {"roof"})
        await store(broker, "cellar", site.client("roof"))
        await broker.eventually(lambda: {*load(kept).certificates} == {"roof", "cellar"})


async def test_a_client_that_is_back_with_another_certificate_has_its_session_and_its_messages(
    run: Run, site: Site
) -> None:
    async with run() as broker:
        await store(broker, "roof", site.client("roof"))
        await message(broker)
        revoke(site, "roof")
        look(broker)
        renewed = ssl.create_default_context(cafile=site.authority.ca)
        pair = site.authority.issue("renewed", subject="/CN=roof", client=True)
        renewed.load_cert_chain(*pair)
        client = await broker.open(0, renewed)
        assert await client.log_in("roof", clean=False) == 0
        assert (await client.packet())[0] >> 4 == Kind.PUBLISH
        client.cut()
        await broker.eventually(lambda: session(broker, "roof").connection is None)
        await message(broker)
        assert not session(broker, "roof").is_revoked
        assert queued(broker, "roof") == [1]


async def test_a_list_without_the_certificate_lets_its_session_go_on(run: Run, site: Site) -> None:
    async with run() as broker:
        await store(broker, "roof", site.client("roof"))
        earlier = site.authority.folder / "earlier.pem"
        shutil.copy(site.crl, earlier)
        revoke(site, "roof")
        look(broker)
        await message(broker)
        assert queued(broker, "roof") == [0]
        os.replace(earlier, site.crl)
        look(broker)
        await message(broker)
        assert queued(broker, "roof") == [1]


async def test_a_client_that_a_password_has_proven_since_is_not_concerned(
    run: Run, site: Site
) -> None:
    async with run() as broker:
        await store(broker, "roof", site.client("roof"))
        client = await broker.open(0, site.client())
        client.send(connect("roof", clean=False, username="roof", password=b"secret"))
        assert (await client.packet())[3] == 0
        client.cut()
        await broker.eventually(lambda: session(broker, "roof").connection is None)
        revoke(site, "roof")
        look(broker)
        await message(broker)
        assert queued(broker, "roof") == [1]


async def test_the_certificates_of_stored_sessions_are_written_at_the_end_and_from_time_to_time(
    run: Run, site: Site, tmp_path: Path
) -> None:
    path = tmp_path / "d" / FILE_NAME
    async with run() as broker:
        await store(broker, "roof", site.client("roof"))
        assert not path.exists() or load(path).certificates == {}
        broker.running.removed_users._writes_at = 0.0
        broker.running.removed_users.tick()
        (name,) = {session(broker, "roof").certificate}
        assert load(path).certificates == {"roof": name}
        broker.running.event_loop.broker.drop_session(session(broker, "roof"), 0.0)
        broker.running.event_loop.schedule()
    assert load(path).certificates == {}


async def test_a_list_that_cannot_be_used_refuses_the_start(run: Run, site: Site) -> None:
    site.crl.write_text("no list")
    with pytest.raises(CertificateError, match="is not a revocation list"):
        async with run():
            pass
