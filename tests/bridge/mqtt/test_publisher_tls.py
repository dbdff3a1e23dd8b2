"""The bridge publishes over TLS to a listener of our broker and verifies its certificate."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

from firmware_bridge.mqtt.publisher import Publisher
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.recovery import open_outbox_store
from firmware_bridge.readings.publications import Publication

from gateway.process.mqtt_client.tls import TlsFiles
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.running import settings_of
from tests.broker.server.listeners.tls_site import Site
from tests.broker.server.reloading_broker import eventually, free_ports, reloading_broker


@contextlib.asynccontextmanager
async def bridge(
    directory: Path, port: int, host: str, tls: TlsFiles
) -> AsyncIterator[tuple[Outbox, Publisher]]:
    directory.mkdir()  # noqa: ASYNC240
    outbox = Outbox(open_outbox_store(directory / "outbox.db"), window=10, bytes_max=1 << 20)
    outbox.choose_session("bridge-under-test", "a")
    broker = dataclasses.replace(settings_of(directory, port).broker, host=host, tls=tls)
    publisher = Publisher(broker, outbox)
    tasks = [asyncio.create_task(outbox.run()), asyncio.create_task(publisher.run())]
    try:
        yield outbox, publisher
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await outbox.close()


async def test_readings_reach_a_listener_with_tls_and_not_one_of_another_name(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path / "site")
    (port,) = free_ports(1)
    tls = TlsFiles(site.authority.ca, *site.clients["cellar"])
    listeners = [{"port": port, "tls": site.mutual()}]
    async with reloading_broker(
        tmp_path, listeners=listeners, bridge__broker=f"localhost:{port}", bridge__tls={}
    ) as broker:
        statistics = broker.running.event_loop.broker.statistics
        async with bridge(tmp_path / "wrong", port, "127.0.0.2", tls) as (outbox, publisher):
            outbox.submit([Publication("sensors/d/a", b"0")])
            await eventually(lambda: publisher.connected or publisher._fault is not None)
            assert "127.0.0.2" in str(publisher._fault)
            assert statistics.received_qos2 == 0
        async with bridge(tmp_path / "right", port, "localhost", tls) as (outbox, _):
            outbox.submit([Publication("sensors/d/a", b"%d" % value) for value in range(5)])
            await asyncio.wait_for(outbox.wait_until_empty(), DEADLINE_SECONDS)
        assert statistics.received_qos2 == 5
        (session,) = broker.running.event_loop.broker.state.sessions.values()
        assert session.username == "cellar"
