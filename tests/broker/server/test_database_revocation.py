"""Connections end when their user's row in a real MariaDB is deleted or changed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.broker.access.users import database as database_users_module
from gateway.broker.access.users import queries as database_module
from gateway.broker.wire.packets import Connect, Properties, Publish, Subscribe, Subscription
from tests.broker.server.database_broker import code_of, database_broker, login
from tests.broker.server.event_loop.authenticating import Broker, is_alive
from tests.broker.server.reloading_broker import eventually
from tests.peers.mariadb import MariaDB


@pytest_asyncio.fixture
async def broker(
    tmp_path: Path, mariadb: MariaDB, request: pytest.FixtureRequest
) -> AsyncIterator[Broker]:
    async with database_broker(tmp_path, mariadb, **getattr(request, "param", {})) as made:
        yield made


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the broker read the rows of connected users again at each check."""
    monkeypatch.setattr(database_users_module, "RECHECK_SECONDS_MIN", 0.0)
    monkeypatch.setattr(database_module, "DOWN_SECONDS", 0.0)


@pytest.mark.parametrize("broker", [{"cache": "0s"}], indirect=True)
@pytest.mark.parametrize("change", ["DELETE FROM devices", "UPDATE devices SET password_hash='x'"])
async def test_a_row_that_is_gone_or_differs_ends_its_connections_and_no_others(
    soon: None, broker: Broker, mariadb: MariaDB, change: str
) -> None:
    async with await broker.open() as device, await broker.open() as local:
        device.send(login("device", b"of the database"))
        local.send(login("local", b"secret"))
        assert [await code_of(device), await code_of(local)] == [0, 0]
        await mariadb.execute(change)
        assert await device.ending() == 0x87
        assert await is_alive(local)
    assert broker.errors["credentials_revoked"] == 1


@pytest.mark.parametrize("broker", [{"cache": "0s"}], indirect=True)
async def test_a_database_that_goes_down_ends_no_connection_and_is_asked_when_it_is_back(
    soon: None, broker: Broker, mariadb: MariaDB
) -> None:
    authentications = broker.running.event_loop.authentications
    async with await broker.open() as device:
        device.send(login("device", b"of the database"))
        assert await code_of(device) == 0
        await asyncio.to_thread(mariadb.stop)
        try:
            await eventually(lambda: bool(authentications.problems))
            assert await is_alive(device)
            assert len(authentications.proofs) == 1
        finally:
            await asyncio.to_thread(mariadb.start)
        await mariadb.execute("DELETE FROM devices")
        assert await device.ending() == 0x87
    await broker.quiet()
    assert len(authentications.proofs) == 0


@pytest.mark.parametrize("broker", [{"cache": "0s"}], indirect=True)
async def test_the_stored_session_of_a_user_whose_row_is_gone_receives_nothing(
    soon: None, broker: Broker, mariadb: MariaDB
) -> None:
    lasting = Properties()
    lasting.session_expiry_interval_seconds = 3_600
    async with await broker.open() as device:
        password = b"of the database"
        device.send(Connect(5, "c", False, 0, None, "device", password, lasting))
        assert await code_of(device) == 0
        device.send(Subscribe(1, [Subscription("t", 1)]))
        await device.receive()
        await mariadb.execute("DELETE FROM devices")
        assert await device.ending() == 0x87
    async with await broker.open() as local:
        local.send(login("local", b"secret"))
        assert await code_of(local) == 0
        local.send(Publish("t", b"x", 1, False, False, 1))
        await local.receive()
    core = broker.running.event_loop.broker
    assert core.state.sessions["c"].queued_count == 0
    assert core.removed_users == {"device"}
