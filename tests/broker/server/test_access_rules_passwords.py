"""Changed and removed passwords while connections are open and sessions are stored."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.broker.access.passwords.file import remove_user, set_password
from tests.broker.server.ruled_broker import PASSWORD, RuledBroker, answered, eventually, running
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Will, connect, publish, subscribe


@pytest_asyncio.fixture
async def broker(tmp_path: Path) -> AsyncIterator[RuledBroker]:
    async with running(tmp_path) as made:
        yield made


@pytest.mark.parametrize("is_removed", [True, False])
async def test_a_password_that_is_changed_or_removed_ends_its_user_s_connections(
    broker: RuledBroker, is_removed: bool
) -> None:
    anna = await broker.log_in("anna", "watch")
    await answered(anna, subscribe(1, ("users/ben/#", 0), ("shared/#", 1)))
    will = Will("shared/gone", b"ben", 1)
    ben = await broker.log_in("ben", "b", level=5, will=will)
    stored = await broker.log_in("ben", "stored")
    await answered(stored, subscribe(1, ("shared/#", 1)))
    stored.abort()
    sessions = broker.running.event_loop.broker.state.sessions
    await eventually(lambda: sessions["stored"].connection is None)
    if is_removed:
        remove_user(broker.users, "ben")
    else:
        set_password(broker.users, "ben", b"other")
    assert broker.running.reloading.reload()["changed"] == ["access.password_file"]
    farewell = await ben.rest()
    assert farewell[2] == 0x87
    client = ByteClient(*await asyncio.open_connection("127.0.0.1", broker.port))
    client.send(connect("b", username="ben", password=PASSWORD.encode()))
    assert (await client.packet())[3] != 0
    client.abort()
    if is_removed:
        assert broker.errors["will_not_authorized"] == 1
    else:
        assert b"shared/gone" in await anna.packet()
    before = broker.queued("stored")
    await answered(anna, publish("shared/x", b"1", qos=1, packet_id=9))
    assert broker.queued("stored") == before + (0 if is_removed else 1)
    if is_removed:
        set_password(broker.users, "ben", PASSWORD.encode())
        broker.running.reloading.reload()
        assert (await anna.packet())[0] >> 4 == Kind.PUBLISH
        await answered(anna, publish("shared/x", b"2", qos=1, packet_id=10))
        assert broker.queued("stored") == before + 1, "the user is back, and so are messages"


async def test_another_user_s_password_ends_nothing(broker: RuledBroker) -> None:
    anna = await broker.log_in("anna", "a")
    set_password(broker.users, "ben", b"other")
    set_password(broker.users, "carl", b"new")
    broker.running.reloading.reload()
    assert (await answered(anna, b"\xc0\x00"))[0] == 0xD0


async def test_what_was_stored_for_a_user_that_went_while_the_broker_was_off_receives_nothing(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as broker:
        ben = await broker.log_in("ben", "stored")
        await answered(ben, subscribe(1, ("shared/#", 1)))
    remove_user(tmp_path / "passwords", "ben")
    users = (tmp_path / "passwords").read_bytes()
    async with running(tmp_path) as broker:
        (tmp_path / "passwords").write_bytes(users)
        broker.running.reloading.reload()
        anna = await broker.log_in("anna", "a")
        await answered(anna, publish("shared/x", b"1", qos=1, packet_id=1))
        assert broker.queued("stored") == 0
