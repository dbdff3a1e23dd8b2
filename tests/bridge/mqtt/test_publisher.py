"""The owner of a session at a broker: other addresses, other brokers, other gateways, copied
outboxes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from firmware_bridge.mqtt.publisher import Publisher
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.recovery import open_outbox_store
from firmware_bridge.readings.publications import Publication

from gateway.process.mqtt_client.session_name import is_name_of
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.running import settings_of
from tests.bridge.session_broker import SessionBroker

CLIENT_ID = "bridge-under-test"


class Gateway:
    def __init__(self, directory: Path, port: int, *, window: int, machine: str, client_id: str):
        directory.mkdir(exist_ok=True)
        settings = settings_of(directory, port, client_id=client_id, window=window)
        self.outbox = Outbox(
            open_outbox_store(directory / "outbox.db"), window=window, bytes_max=1 << 20
        )
        self.outbox.choose_session(client_id, machine)
        self.publisher = Publisher(settings.broker, self.outbox)

    def read(self, *values: int) -> None:
        self.outbox.submit([Publication("sensors/d/a", b"%d" % value) for value in values])

    async def drain(self) -> None:
        """Wait until nothing is waiting or in flight, also in the outbox on disk."""
        await asyncio.wait_for(self.outbox.wait_until_empty(), DEADLINE_SECONDS)
        self.outbox.stop()
        await self.outbox.wait_for_commit()


@contextlib.asynccontextmanager
async def gateway(
    directory: Path,
    port: int,
    *,
    window: int = 100,
    machine: str = "a",
    client_id: str = CLIENT_ID,
) -> AsyncIterator[Gateway]:
    """Run outbox and publisher. At the end they stop without DISCONNECT, as after a power cut."""
    found = Gateway(directory, port, window=window, machine=machine, client_id=client_id)
    tasks = [asyncio.create_task(found.outbox.run()), asyncio.create_task(found.publisher.run())]
    try:
        yield found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await found.outbox.close()


@contextlib.asynccontextmanager
async def broker_of(awaiting_release_max: int = 65535) -> AsyncIterator[tuple[SessionBroker, int]]:
    broker = SessionBroker(awaiting_release_max=awaiting_release_max)
    try:
        yield broker, await broker.open_address()
    finally:
        await broker.close()


async def leave_in_flight(
    directory: Path, broker: SessionBroker, port: int, readings: int, *, held: int
) -> None:
    """Cut a gateway's power while the broker holds `held` of its readings and has acknowledged
    none."""
    broker.answers = False
    async with gateway(directory, port) as bridge:
        bridge.read(*range(readings))
        await broker.wait_until_held(held)
    broker.answers = True


def numbers(broker: SessionBroker) -> list[int]:
    return sorted(int(payload) for payload in broker.delivered)


async def test_at_another_address_of_one_broker_what_is_in_flight_continues(tmp_path: Path) -> None:
    async with broker_of() as (broker, port):
        broker.completes = False
        async with gateway(tmp_path, port) as bridge:
            bridge.read(*range(10))
            await broker.wait_for(10)
            broker.answers = False
            bridge.read(*range(10, 20))
            await broker.wait_until_held(10)
        broker.completes = broker.answers = True
        async with gateway(tmp_path, await broker.open_address()) as bridge:
            bridge.read(20)
            await broker.wait_for(21)
            await bridge.drain()
            assert bridge.outbox.republished == 0
        assert numbers(broker) == list(range(21))
        assert len(set(broker.connects)) == 1


async def test_what_another_broker_gets_no_earlier_life_of_the_session_swallows(
    tmp_path: Path,
) -> None:
    async with broker_of() as (first, first_port), broker_of() as (second, second_port):
        await leave_in_flight(tmp_path, first, first_port, 10, held=10)
        async with gateway(tmp_path, second_port) as bridge:
            await second.wait_for(10)
            await bridge.drain()
            assert bridge.outbox.republished == 10
        assert numbers(second) == list(range(10))
        # The first broker still holds ten packet identifiers. In that session it would treat new
        # messages with them as repeats.
        async with gateway(tmp_path, first_port) as bridge:
            bridge.read(*range(10, 30))
            await first.wait_for(20)
        assert numbers(first) == list(range(10, 30))
        assert len(second.sessions) == 1, "the empty one of the old name was discarded"


async def test_two_gateways_of_one_client_id_do_not_take_each_others_session(
    tmp_path: Path,
) -> None:
    async with (
        broker_of() as (broker, port),
        gateway(tmp_path / "a", port) as one,
        gateway(tmp_path / "b", port) as other,
    ):
        for value in range(0, 100, 2):
            one.read(value)
            other.read(value + 1)
        await broker.wait_for(100)
        assert numbers(broker) == list(range(100))
        assert len(broker.connects) == 2


async def test_a_copy_of_an_outbox_on_another_machine_gets_a_session_of_its_own(
    tmp_path: Path,
) -> None:
    async with broker_of() as (broker, port):
        async with gateway(tmp_path / "a", port) as bridge:
            bridge.read(0)
            await bridge.drain()
        (tmp_path / "b").mkdir()
        for file in (tmp_path / "a").iterdir():
            (tmp_path / "b" / file.name).write_bytes(file.read_bytes())
        async with (
            gateway(tmp_path / "a", port) as original,
            gateway(tmp_path / "b", port, machine="b") as copy,
        ):
            for value in range(1, 41, 2):
                original.read(value)
                copy.read(value + 1)
            await broker.wait_for(41)
        assert numbers(broker) == list(range(41))
        async with gateway(tmp_path / "b", port, machine="b") as copy:
            copy.read(41)
            await broker.wait_for(42)
        assert len(set(broker.connects)) == 2, "and keeps it"


async def test_a_card_moved_to_another_machine_continues_with_what_is_in_flight(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with broker_of() as (broker, port):
        await leave_in_flight(tmp_path, broker, port, 10, held=10)
        async with gateway(tmp_path, port, machine="b"):
            await broker.wait_for(10)
        assert numbers(broker) == list(range(10))
    assert "the outbox was created on another machine" in caplog.text


async def test_a_new_client_id_holds_as_soon_as_nothing_is_in_flight(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with broker_of() as (broker, port):
        await leave_in_flight(tmp_path, broker, port, 10, held=10)
        async with gateway(tmp_path, port, client_id="renamed") as bridge:
            await bridge.drain()
        async with gateway(tmp_path, port, client_id="renamed") as bridge:
            bridge.read(10)
            await broker.wait_for(11)
        assert numbers(broker) == list(range(11))
        assert is_name_of(broker.connects[-1], "renamed")
    assert "continues until its 10 readings in flight are acknowledged" in caplog.text


async def test_more_in_flight_than_a_smaller_broker_holds_drains_through_the_smaller_window(
    tmp_path: Path,
) -> None:
    async with broker_of() as (broker, port):
        await leave_in_flight(tmp_path, broker, port, 300, held=100)
        broker.awaiting_release_max = 20
        async with gateway(tmp_path, port, window=20):
            await broker.wait_for(300)
        assert numbers(broker) == list(range(300))
        assert broker.refused == 0


async def test_a_broker_that_holds_none_of_what_was_in_flight_gets_no_more_than_its_window(
    tmp_path: Path,
) -> None:
    async with broker_of(awaiting_release_max=20) as (broker, port):
        broker.reads = False
        async with gateway(tmp_path, port, window=100) as bridge:
            bridge.read(*range(300))
            async with asyncio.timeout(DEADLINE_SECONDS):
                while bridge.outbox.status()["in_flight"] < 100:
                    await bridge.outbox.wait_for_commit()
        broker.reads = True
        async with gateway(tmp_path, port, window=20):
            await broker.wait_for(300)
        assert numbers(broker) == list(range(300))
        assert broker.refused == 0
