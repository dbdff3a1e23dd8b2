"""Stored sessions of users that no list contains, after their last credential has expired."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.broker.access.users.removed_file import FILE_NAME, RemovedFile, load, save
from gateway.broker.server.proof_ends import DAY_MS, ProofEnds
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Properties,
    Publish,
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Harness
from tests.broker.core.owned import log_in as log_in_at
from tests.broker.server.reloading_broker import (
    ReloadingBroker,
    eventually,
    free_ports,
    reloading_broker,
)
from tests.peers.identity_provider import AUDIENCE, IdentityProvider
from tests.peers.packet_client import PacketClient

MONTH = 30 * 86_400.0


class Site:
    """A directory with the user ben, and a provider with other users, for the same broker."""

    def __init__(self, directory: Path, provider: IdentityProvider) -> None:
        self.directory, self.provider = directory, provider
        (self.port,) = free_ports(1)
        set_password(directory / "passwords", "ben", b"secret", scram_iterations=4_096)

    def broker(self, outlived: str = "30d") -> AbstractAsyncContextManager[ReloadingBroker]:
        return reloading_broker(
            self.directory,
            access__password_file=self.directory / "passwords",
            access__jwt={"issuer": self.provider.url, "audience": AUDIENCE},
            access__sessions_outlive_proof=outlived,
            listeners=[{"port": self.port, "anonymous": False}],
        )

    async def log_in(self, client_id: str, user: str, password: bytes) -> PacketClient:
        client = PacketClient(*await asyncio.open_connection("127.0.0.1", self.port), version=5)
        lasting = Properties()
        lasting.session_expiry_interval_seconds = 0xFFFF_FFFF
        client.send(Connect(5, client_id, False, 0, None, user, password, lasting))
        connack = await client.receive()
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0
        return client

    async def store(self, broker: ReloadingBroker, password: bytes) -> None:
        """Leave a stored session of dora, who is a user of the provider only."""
        async with await self.log_in("stored", "dora", password) as client:
            client.send(Subscribe(1, [Subscription("t", 1)]))
            await client.receive()
        sessions = broker.running.event_loop.broker.state.sessions
        await eventually(lambda: sessions["stored"].connection is None)

    async def queued_after_a_message(self, broker: ReloadingBroker) -> int:
        async with await self.log_in("ben", "ben", b"secret") as ben:
            ben.send(Publish("t", b"x", 1, False, False, 1))
            await ben.receive()
        return broker.running.event_loop.broker.state.sessions["stored"].queued_count


def let_days_pass(broker: ReloadingBroker, days: int) -> None:
    state = broker.running.event_loop.broker.state
    state.time._base_ms += days * DAY_MS
    broker.running.removed_users.proof_ends._next_check = 0.0
    broker.running.removed_users.tick()


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    made = Harness(tmp_path)
    yield made
    made.close()


@pytest.fixture
def site(tmp_path: Path, provider: IdentityProvider) -> Site:
    return Site(tmp_path, provider)


async def test_a_month_after_its_token_a_stored_session_receives_nothing_until_it_is_proven(
    site: Site,
) -> None:
    async with site.broker() as broker:
        await site.store(broker, site.provider.token(sub="dora").encode())
        assert await site.queued_after_a_message(broker) == 1
        let_days_pass(broker, 30)
        assert await site.queued_after_a_message(broker) == 2, "the day is not over"
        let_days_pass(broker, 2)
        assert await site.queued_after_a_message(broker) == 2
    async with site.broker() as broker:
        assert await site.queued_after_a_message(broker) == 2, "after a restart as well"
        async with await site.log_in(
            "stored", "dora", site.provider.token(sub="dora").encode()
        ) as dora:
            assert [await dora.receive() for _ in range(2)]
            assert await site.queued_after_a_message(broker) == 0
            assert await dora.receive()


async def test_what_a_power_cut_took_counts_from_the_start_and_never_means_never(
    site: Site,
) -> None:
    async with site.broker("never") as broker:
        await site.store(broker, site.provider.token(sub="dora").encode())
        let_days_pass(broker, 1_000)
        assert await site.queued_after_a_message(broker) == 1
    path = site.directory / "data" / FILE_NAME
    kept = load(path)
    assert set(kept.expiry_ms) == {"dora"}, "not those whom the file has"
    save(path, RemovedFile(kept.listed, kept.removed))
    async with site.broker() as broker:
        assert await site.queued_after_a_message(broker) == 2
        let_days_pass(broker, 29)
        assert await site.queued_after_a_message(broker) == 3
        let_days_pass(broker, 3)
        assert await site.queued_after_a_message(broker) == 3


def test_an_open_connection_is_a_proof(harness: Harness) -> None:
    dora = log_in_at(harness, "dora", "d")
    ends = ProofEnds(harness.broker, {})
    ends.take(frozenset(), MONTH, has_database=False)
    ends.note("dora", 0.0, harness.now)
    harness.advance(40 * 86_400.0)
    assert ends.take_expired(harness.now) == frozenset()
    harness.lose(dora)
    harness.advance(29 * 86_400.0)
    assert ends.take_expired(harness.now) == frozenset()
    harness.advance(3 * 86_400.0)
    assert ends.take_expired(harness.now) == {"dora"}


def test_users_of_a_list_or_a_database_have_no_end(harness: Harness) -> None:
    for name in ("ann", "ben", "cid"):
        harness.lose(log_in_at(harness, name, name))
    ends = ProofEnds(harness.broker, {})
    ends.take(frozenset({"ann"}), MONTH, has_database=True)
    ends.note("ben", 60.0, harness.now)
    ends.note("ann", 60.0, harness.now)
    assert set(ends.to_store()) == {"ben", "cid"}
    assert ends.ends["cid"] is None
    harness.advance(40 * 86_400.0)
    assert ends.take_expired(harness.now) == {"ben"}
    ends.take(None, MONTH, has_database=False)
    assert ends.to_store() == {}


def test_a_device_with_a_token_each_hour_changes_what_is_kept_once_a_day(
    harness: Harness,
) -> None:
    harness.lose(log_in_at(harness, "dora", "d"))
    ends = ProofEnds(harness.broker, {})
    ends.take(frozenset(), MONTH, has_database=False)
    seen: set[int | None] = set()
    for _ in range(48):
        ends.note("dora", 3_600.0, harness.now)
        seen.add(ends.to_store()["dora"])
        harness.advance(3_600.0)
    assert len(seen) == 3
