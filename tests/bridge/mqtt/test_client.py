"""gmqtt as the bridge's client: the five places where gmqtt alone would lose or duplicate a
reading.

These tests call gmqtt's own connection, handler and storage, so that a new release which changes
anything that `BridgeClient` relies on fails here.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import gmqtt  # type: ignore[import-untyped]
import pytest
from firmware_bridge.mqtt.client import BridgeClient, OutboxStorage
from firmware_bridge.mqtt.publisher import Publisher
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.readings.publications import Publication
from firmware_bridge.settings import BridgeSettings

from gateway.broker.wire.packets import Disconnect, Packet, Pubcomp, Publish, Pubrec, Pubrel
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.disk import GatedStore
from tests.bridge.running import settings_of
from tests.bridge.silent_broker import SilentBroker


@pytest.fixture
async def broker() -> AsyncIterator[SilentBroker]:
    async with SilentBroker() as broker:
        yield broker


@pytest.fixture
def settings(broker: SilentBroker, tmp_path: Path) -> BridgeSettings:
    return settings_of(tmp_path, broker.port)


class Bench:
    def __init__(self, settings: BridgeSettings) -> None:
        self.store = GatedStore(settings.data_dir / "outbox.db")
        self.outbox = Outbox(self.store, window=settings.window, bytes_max=1 << 20)
        self.publisher = Publisher(settings.broker, self.outbox)

    def read(self, *names: str) -> None:
        self.outbox.submit([Publication(f"sensors/d/{name}", name.encode()) for name in names])


@contextlib.asynccontextmanager
async def publishing(settings: BridgeSettings) -> AsyncIterator[Bench]:
    """Run outbox and publisher. At the end they stop without DISCONNECT, as after a crash."""
    bench = Bench(settings)
    tasks = [asyncio.create_task(bench.outbox.run()), asyncio.create_task(bench.publisher.run())]
    try:
        yield bench
    finally:
        bench.store.let_go()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await bench.outbox.close()


async def begun(broker: SilentBroker) -> None:
    """Await the CONNECT of a new session, whose client identifier no broker has seen before."""
    first = await broker.next_connect()
    assert (first.clean_start, first.protocol_level) == (False, 4)
    assert re.fullmatch("bridge-under-test-[0-9a-f]{8}", first.client_id)


async def in_flight(broker: SilentBroker, bench: Bench, *names: str) -> None:
    """Open a new session and send one reading per name, with packet identifiers from 1 on."""
    await begun(broker)
    bench.read(*names)
    for packet_id, name in enumerate(names, 1):
        assert seen(await broker.next_packet()) == (name, packet_id, False)


def seen(packet: Packet) -> tuple[Any, ...]:
    if isinstance(packet, Publish):
        return (packet.payload.decode(), packet.packet_id, packet.dup)
    assert isinstance(packet, Pubrel)
    return ("release", packet.packet_id)


async def test_place_1_a_packet_identifier_is_durable_before_its_first_byte_leaves(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        await begun(broker)
        await bench.outbox.wait_for_commit()
        bench.store.hold()
        bench.read("a")
        await bench.store.held_commit()
        broker.send(Pubcomp(99))  # Nothing may leave, however the event loop continues meanwhile.
        await asyncio.sleep(0)
        assert broker.packets.empty()
        bench.store.let_go()
        assert seen(await broker.next_packet()) == ("a", 1, False)


async def test_place_1_gmqtts_own_publish_is_out_of_reach_of_the_bridge(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        client = BridgeClient("c", bench.outbox, clean_session=False)
        with pytest.raises(NotImplementedError, match="store"):
            client.publish("sensors/d/a", b"a", qos=2)


async def test_place_2_a_new_reading_never_takes_the_identifier_of_an_unfinished_exchange(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        await in_flight(broker, bench, "a")
    broker.session_present = True
    async with publishing(settings) as bench:
        bench.read("b")
        assert seen(await _next_exchange_packet(broker)) == ("a", 1, True)
        assert seen(await broker.next_packet()) == ("b", 2, False)


async def test_place_3_a_pubrel_waits_until_the_pubrec_is_durable(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        await in_flight(broker, bench, "a")
        bench.store.hold()
        broker.send(Pubrec(1))
        await bench.store.held_commit()
        assert broker.packets.empty()
        bench.store.let_go()
        assert seen(await broker.next_packet()) == ("release", 1)
        assert bench.store.in_flight_states() == [(1, True)]
    broker.session_present = True
    async with publishing(settings):
        assert seen(await _next_exchange_packet(broker)) == ("release", 1)


async def test_place_4_a_replayed_publish_carries_dup_and_everything_keeps_its_order(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        await in_flight(broker, bench, "a", "b", "c")
        broker.send(Pubrec(2))
        assert seen(await broker.next_packet()) == ("release", 2)
        broker.session_present = True
        broker.cut()
        for again in [("release", 2), ("a", 1, True), ("c", 3, True)]:
            assert seen(await broker.next_packet()) == again


async def test_place_5_without_a_session_every_reading_in_flight_goes_out_as_new(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        await in_flight(broker, bench, "a", "b")
        broker.send(Pubrec(1))
        assert seen(await broker.next_packet()) == ("release", 1)
        broker.cut()
        assert seen(await _next_exchange_packet(broker)) == ("a", 3, False)
        assert seen(await broker.next_packet()) == ("b", 4, False)
        assert bench.outbox.republished == 2


async def test_a_finished_exchange_leaves_nothing_behind(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        await in_flight(broker, bench, "a")
        broker.send(Pubrec(1))
        await broker.next_packet()
        broker.send(Pubcomp(1))
        await asyncio.wait_for(bench.outbox.wait_until_empty(), DEADLINE_SECONDS)
        bench.outbox.stop()
        await bench.outbox.wait_for_commit()
        assert bench.store.in_flight_states() == []


async def test_a_session_that_the_broker_has_lost_is_given_up_with_its_name(
    broker: SilentBroker, settings: BridgeSettings
) -> None:
    async with publishing(settings) as bench:
        first = await broker.next_connect()
        bench.read("a")
        assert seen(await broker.next_packet()) == ("a", 1, False)
        broker.cut()
        again, discarding, fresh = [await broker.next_connect() for _ in range(3)]
        assert (again.client_id, again.clean_start) == (first.client_id, False)
        assert (discarding.client_id, discarding.clean_start) == (first.client_id, True)
        assert fresh.client_id != first.client_id
        assert not fresh.clean_start
        assert seen(await _next_exchange_packet(broker)) == ("a", 2, False)
    broker.session_present = True
    async with publishing(settings):
        assert (await broker.next_connect()).client_id == fresh.client_id, "now it is ours"


async def test_a_session_that_a_broker_has_under_a_new_name_is_not_taken(
    broker: SilentBroker, settings: BridgeSettings, caplog: pytest.LogCaptureFixture
) -> None:
    broker.session_present = True
    async with publishing(settings) as bench:
        bench.read("a")
        first, second = [await broker.next_connect() for _ in range(2)]
        assert first.client_id != second.client_id
        broker.session_present = False
        assert seen(await _next_exchange_packet(broker)) == ("a", 1, False)
    assert "it already has a session with the new name" in caplog.text


async def test_a_refusal_is_logged_once_and_tried_again(
    broker: SilentBroker, settings: BridgeSettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    broker.return_code = 5
    async with publishing(settings):
        await broker.next_connect()
        await broker.next_connect()
        broker.return_code = 0
        await broker.next_connect()
    assert caplog.text.count("Not authori") + caplog.text.count("not authori") == 1
    assert "check [bridge] username" in caplog.text


async def test_a_broker_that_closes_without_an_answer_is_tried_again(
    broker: SilentBroker, settings: BridgeSettings, caplog: pytest.LogCaptureFixture
) -> None:
    attempts: asyncio.Queue[None] = asyncio.Queue()

    async def close_immediately(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        attempts.put_nowait(None)
        writer.close()

    server = await asyncio.start_server(close_immediately, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, publishing(settings_of(settings.data_dir, port)):
        for _ in range(3):
            await asyncio.wait_for(attempts.get(), DEADLINE_SECONDS)
    assert caplog.text.count("no connection to the broker") == 1


async def test_credentials_are_sent(broker: SilentBroker, tmp_path: Path) -> None:
    settings = settings_of(tmp_path, broker.port, username="bridge", password="secret")  # noqa: S106
    async with publishing(settings):
        connect = await broker.next_connect()
        assert (connect.username, connect.password) == ("bridge", b"secret")


def test_the_methods_that_the_client_replaces_are_still_gmqtts() -> None:
    for name in ("reconnect", "publish", "_send_command_with_mid"):
        assert name in vars(gmqtt.Client), f"gmqtt has no {name} any more: see mqtt/client.py"
    for name in ("push_message", "remove_message_by_mid", "clear", "is_empty", "wait_empty"):
        assert hasattr(OutboxStorage, name), f"gmqtt's storage has no {name} any more"


async def _next_exchange_packet(broker: SilentBroker) -> Packet:
    while isinstance(packet := await broker.next_packet(), Disconnect):
        pass
    return packet
