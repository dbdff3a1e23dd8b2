"""Bans while the broker runs, and after a restart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.broker.access import bans_file
from gateway.broker.access.bans_file import Ban, Kind, Source
from gateway.broker.server import bans as module
from gateway.broker.server.bans import Bans, TooManyBans
from gateway.broker.server.main import RunningBroker
from gateway.broker.wire.packets import Connack, Connect, Disconnect, Pingreq, Pingresp
from gateway.configuration import load
from tests.broker.server.broker import Broker
from tests.peers.packet_client import PacketClient


@asynccontextmanager
async def broker_at(data_dir: Path, **keys: Any) -> AsyncIterator[Broker]:
    overrides: dict[str, Any] = {"gateway.data_dir": data_dir, "listeners": [{"port": 0}]}
    overrides |= {name.replace("__", "."): value for name, value in keys.items()}
    configuration = load(None, {}, overrides, None)
    stop = asyncio.Event()
    broker = Broker(await RunningBroker.start(configuration, None))
    ticking = asyncio.create_task(broker.running.until(stop))
    try:
        yield broker
    finally:
        broker.cut()
        stop.set()
        await ticking
        await broker.running.stop()


@pytest_asyncio.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with broker_at(tmp_path / "data") as running:
        yield running


def ban(kind: Kind, value: str, *, until_ms: int | None = None) -> Ban:
    return Ban(kind, bans_file.value_of(kind, value), "a reason", Source.OPERATOR, 1, until_ms)


def bans_of(broker: Broker) -> Bans:
    return broker.running.bans


async def log_in(broker: Broker, client_id: str, username: str | None = None) -> PacketClient:
    """Send a CONNECT of 5.0; return the client without waiting for the CONNACK."""
    client = await broker.open_packets()
    client.send(Connect(5, client_id, False, 0, None, username, None))
    return client


async def is_in(client: PacketClient) -> bool:
    connack = await client.receive()
    assert isinstance(connack, Connack)
    return connack.reason_code == 0


async def test_a_ban_ends_the_connections_it_is_about_and_refuses_new_ones(broker: Broker) -> None:
    banned, other = await log_in(broker, "a"), await log_in(broker, "b")
    assert await is_in(banned)
    assert await is_in(other)
    assert await bans_of(broker).add(ban(Kind.CLIENT, "a")) == (1, True)
    last = await banned.receive()
    assert isinstance(last, Disconnect)
    assert last.reason_code == 0x98
    assert last.properties is not None
    assert last.properties.reason_string == "banned: a reason"
    assert await banned.receive() is None
    assert await (await log_in(broker, "a")).ending() == 0x8A
    other.send(Pingreq())
    assert isinstance(await other.receive(), Pingresp)
    assert broker.errors == {"banned": 2}


async def test_a_banned_user_is_refused_whatever_its_client_is_called(broker: Broker) -> None:
    client = await log_in(broker, "a", "ann")
    assert await is_in(client)
    assert await bans_of(broker).add(ban(Kind.USER, "ann")) == (1, True)
    assert await client.ending() == 0x98
    assert await (await log_in(broker, "b", "ann")).ending() == 0x8A
    assert await is_in(await log_in(broker, "a", "ben"))


async def test_a_banned_address_is_closed_before_it_sends_anything_until_it_is_lifted(
    broker: Broker,
) -> None:
    client = await log_in(broker, "a")
    assert await is_in(client)
    waiting = await broker.open_packets()  # this client has sent no CONNECT yet
    await broker.eventually(lambda: len(broker.running.event_loop.channels) == 2)
    assert (await bans_of(broker).add(ban(Kind.ADDRESS, "127.0.0.0/30")))[0] == 2
    assert await client.ending() == 0x98
    assert await waiting.receive() is None
    assert await (await log_in(broker, "a")).receive() is None
    lifted = await bans_of(broker).lift(Kind.ADDRESS, "127.0.0.0/30")
    assert lifted is not None
    assert await is_in(await log_in(broker, "a"))
    assert await bans_of(broker).lift(Kind.ADDRESS, "127.0.0.0/30") is None


async def test_bans_hold_over_a_restart_and_end_by_themselves(tmp_path: Path) -> None:
    async with broker_at(tmp_path) as first:
        bans = bans_of(first)
        now = bans.time_ms()
        await bans.add(ban(Kind.CLIENT, "a"))
        await bans.add(ban(Kind.CLIENT, "for an hour", until_ms=now + 3_600_000))
        await bans.add(ban(Kind.CLIENT, "over", until_ms=now + 1))
    async with broker_at(tmp_path) as second:
        bans_of(second).tick()
        assert [each.value for each in bans_of(second).listed()] == ["a", "for an hour"]
        assert await (await log_in(second, "a")).ending() == 0x8A
        assert await is_in(await log_in(second, "over"))
    kept = bans_file.load(tmp_path / bans_file.FILE_NAME)
    assert [each.value for each in kept] == ["a", "for an hour"]


async def test_a_file_that_cannot_be_used_is_set_aside_and_the_broker_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / bans_file.FILE_NAME
    path.write_bytes(b"{")
    async with broker_at(tmp_path) as broker:
        assert bans_of(broker).listed() == []
        assert await is_in(await log_in(broker, "a"))
    assert path.with_name("broker.bans.json.damaged").read_bytes() == b"{"
    assert "is no file of bans" in caplog.text


async def test_a_ban_that_cannot_be_written_holds_and_is_written_later(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    path = tmp_path / "data" / bans_file.FILE_NAME
    partial = path.with_name(f"{path.name}.partial")
    partial.mkdir()
    assert await bans_of(broker).add(ban(Kind.CLIENT, "a")) == (0, False)
    assert await (await log_in(broker, "a")).ending() == 0x8A
    assert not path.exists()
    partial.rmdir()
    bans_of(broker).tick()
    await broker.eventually(path.exists)


async def test_there_is_room_for_so_many_bans_and_no_more(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bans_file, "BANS_MAX", 2)
    for name in ("a", "b", "b"):
        await bans_of(broker).add(ban(Kind.CLIENT, name))
    with pytest.raises(TooManyBans):
        await bans_of(broker).add(ban(Kind.CLIENT, "c"))


# -- clients that connect and disconnect again and again

FLAPPING = {"flapping__enable": True, "flapping__max_count": 2, "flapping__ban_time": "1h"}


async def come_and_go(broker: Broker, client_id: str, times: int) -> None:
    sessions = broker.running.event_loop.broker.state.sessions
    for _ in range(times):
        client = await log_in(broker, client_id)
        assert await is_in(client)
        client.cut()
        await broker.eventually(lambda: client_id not in sessions)


async def test_a_client_that_comes_and_goes_is_banned_for_a_while(tmp_path: Path) -> None:
    async with broker_at(tmp_path, **FLAPPING) as broker:
        broker.running.listening.addresses.exempt = ()
        await come_and_go(broker, "flaps", 3)
        await come_and_go(broker, "calm", 2)
        bans_of(broker).tick()
        (found,) = bans_of(broker).listed()
        assert (found.kind, found.value, found.source) == (Kind.CLIENT, "flaps", Source.FLAPPING)
        assert found.until_ms is not None
        assert found.until_ms - found.since_ms == 3_600_000
        assert await (await log_in(broker, "flaps")).ending() == 0x8A
        assert await is_in(await log_in(broker, "calm"))
        assert broker.errors == {"flapping": 1, "banned": 1}
    assert len(bans_file.load(tmp_path / bans_file.FILE_NAME)) == 1


async def test_a_program_on_this_machine_may_come_and_go(tmp_path: Path) -> None:
    async with broker_at(tmp_path, **FLAPPING) as broker:
        await come_and_go(broker, "bridge", 5)
        bans_of(broker).tick()
        assert bans_of(broker).listed() == []


async def test_bans_for_flapping_leave_room_for_those_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLAPPING_BANS_MAX", 2)
    async with broker_at(tmp_path, **FLAPPING) as broker:
        broker.running.listening.addresses.exempt = ()
        await bans_of(broker).add(ban(Kind.CLIENT, "by hand"))
        flapping = broker.running.event_loop.broker.bans.flapping
        for number in range(4):
            for _ in range(3):
                flapping.disconnected(f"c{number}", "192.0.2.7:1", 0.0)
        bans_of(broker).tick()
        assert [each.value for each in bans_of(broker).listed()] == ["by hand", "c2", "c3"]
