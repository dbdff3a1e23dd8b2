"""Users that were removed from the password file, next to a source that cannot be listed."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import remove_user, set_password
from gateway.broker.access.users.removed_file import FILE_NAME
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Properties,
    Publish,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.server.reloading_broker import (
    ReloadingBroker,
    eventually,
    free_ports,
    reloading_broker,
)
from tests.peers.identity_provider import AUDIENCE, IdentityProvider
from tests.peers.packet_client import PacketClient


class Site:
    """A directory with the users anna and ben, and the configuration of a broker there."""

    def __init__(self, directory: Path, provider: IdentityProvider) -> None:
        self.directory, self.provider = directory, provider
        self.users = directory / "passwords"
        (self.port,) = free_ports(1)
        for user in ("anna", "ben"):
            set_password(self.users, user, b"secret", scram_iterations=4_096)

    def broker(self) -> AbstractAsyncContextManager[ReloadingBroker]:
        return reloading_broker(
            self.directory,
            access__order=["jwt", "password_file"],
            access__password_file=self.users,
            access__jwt={"issuer": self.provider.url, "audience": AUDIENCE},
            listeners=[{"port": self.port, "anonymous": False}],
        )

    @property
    def file(self) -> Path:
        return self.directory / "data" / FILE_NAME

    def kept(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = json.loads(self.file.read_text())
        return found


@pytest.fixture
def site(tmp_path: Path, provider: IdentityProvider) -> Site:
    return Site(tmp_path, provider)


async def opened(site: Site) -> PacketClient:
    return PacketClient(*await asyncio.open_connection("127.0.0.1", site.port), version=5)


async def log_in(client: PacketClient, client_id: str, user: str, password: bytes) -> None:
    """Connect with a session that is stored, and a will with a delay of an hour."""
    delayed = Properties()
    delayed.will_delay_interval_seconds = 3_600
    lasting = Properties()
    lasting.session_expiry_interval_seconds = 7_200
    will = Will("gone", b"x", 1, False, delayed)
    client.send(Connect(5, client_id, False, 0, will, user, password, lasting))
    connack = await client.receive()
    assert isinstance(connack, Connack)
    assert connack.reason_code == 0


async def stored(broker: ReloadingBroker, site: Site) -> None:
    """Leave a stored session of anna with a subscription."""
    async with await opened(site) as client:
        await log_in(client, "stored", "anna", b"secret")
        client.send(Subscribe(1, [Subscription("t", 1)]))
        await client.receive()
    sessions = broker.running.event_loop.broker.state.sessions
    await eventually(lambda: sessions["stored"].connection is None)


async def queued_after_a_message(broker: ReloadingBroker, site: Site) -> int:
    async with await opened(site) as ben:
        await log_in(ben, "ben", "ben", b"secret")
        ben.send(Publish("t", b"x", 1, False, False, 1))
        await ben.receive()
    return broker.running.event_loop.broker.state.sessions["stored"].queued_count


async def test_a_stored_session_receives_nothing_from_the_reload_on(site: Site) -> None:
    async with site.broker() as broker:
        await stored(broker, site)
        assert await queued_after_a_message(broker, site) == 1
        remove_user(site.users, "anna")
        assert broker.reload()["changed"] == ["access.password_file"]
        assert await queued_after_a_message(broker, site) == 1
        event_loop = broker.running.event_loop
        event_loop.broker.drop_session(event_loop.broker.state.sessions["stored"], 0.0)
        event_loop.schedule()
        assert broker.errors["will_not_authorized"] == 1, "the late will goes nowhere"


async def test_who_is_removed_while_the_broker_is_away_receives_nothing_after_the_start(
    site: Site,
) -> None:
    async with site.broker() as broker:
        await stored(broker, site)
    assert site.kept()["known"] == ["anna", "ben"]
    remove_user(site.users, "anna")
    for _ in range(2):  # the second start reads the removed user from the file
        async with site.broker() as broker:
            assert await queued_after_a_message(broker, site) == 0
        assert site.kept() == {
            "format": 1,
            "known": ["ben"],
            "removed": ["anna"],
            "proven_until_ms": {},
            "certificates": {},
        }


async def test_another_source_that_proves_the_user_brings_the_session_back(
    site: Site, provider: IdentityProvider
) -> None:
    async with site.broker() as broker:
        await stored(broker, site)
        remove_user(site.users, "anna")
        broker.reload()
        async with await opened(site) as client:
            await log_in(client, "token", "anna", provider.token().encode())
        assert await queued_after_a_message(broker, site) == 1
        await eventually(lambda: site.kept()["removed"] == [])


async def test_a_file_that_cannot_be_used_is_set_aside_and_said(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    for content in ('{"format": 2}', "[]", '{"format": 1, "known": [7], "removed": []}', "{"):
        site.file.parent.mkdir(exist_ok=True)
        site.file.write_text(content)
        caplog.clear()
        async with site.broker():
            assert site.kept()["known"] == ["anna", "ben"]
        assert "is no file of removed users" in caplog.text
        assert site.file.with_name(f"{FILE_NAME}.damaged").read_text() == content
