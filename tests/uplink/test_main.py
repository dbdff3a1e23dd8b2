"""The whole uplink between two brokers of this checkout, and with Mosquitto."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Disconnect,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from gateway.process.files.queue_opening import QueueError
from gateway.process.mqtt_client.tls import TlsFiles
from gateway.uplink.hops import HOPS_PROPERTY
from gateway.uplink.main import serve
from gateway.uplink.routes import Route
from gateway.uplink.settings import Endpoint, UplinkSettings
from tests.bridge.broker import DEADLINE_SECONDS
from tests.broker.server.listeners.tls_site import Site
from tests.peers.packet_client import PacketClient
from tests.system.broker_process import BrokerProcess, free_port

ROUTES = (
    Route(filter="out/#", qos=2, remote_prefix="site/"),
    Route(filter="in/#", direction="in", qos=2, remote_prefix="site/"),
    Route(filter="shared/#", direction="both"),
)


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    pair = (BrokerProcess(), BrokerProcess())
    try:
        for broker in pair:
            broker.start()
        yield pair
    finally:
        for broker in pair:
            broker.remove()


def settings_of(
    directory: Path, brokers: tuple[BrokerProcess, BrokerProcess], gateway_id: str = "gw"
) -> UplinkSettings:
    local, upstream = brokers
    return UplinkSettings(
        data_dir=directory,
        gateway_id=gateway_id,
        local=Endpoint(host="127.0.0.1", port=local.port, client_id=f"{gateway_id}-local"),
        remote=Endpoint(host="127.0.0.1", port=upstream.port, client_id=f"{gateway_id}-remote"),
        routes=ROUTES,
        control_socket=local.data_directory / "control.sock",
        report_seconds=0.02,
    )


@contextlib.asynccontextmanager
async def uplink(settings: UplinkSettings, broker: BrokerProcess) -> AsyncIterator[None]:
    """Run the uplink, and wait until its own report shows that it is connected to both brokers."""
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(settings, stop))
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not await asyncio.to_thread(_is_connected, broker, settings):
                assert not serving.done(), serving.exception()
                await asyncio.sleep(0.02)
        yield
    finally:
        stop.set()
        await serving
        await asyncio.to_thread(shutil.rmtree, settings.data_dir, ignore_errors=True)


def _is_connected(broker: BrokerProcess, settings: UplinkSettings) -> bool:
    report = broker.ask("reports").get("uplink")
    if report is None:
        return False
    sides = [report["status"][side] for side in ("local", "remote")]
    return all(
        side["connected"] and str(side["session"]).startswith(settings.gateway_id) for side in sides
    )


async def client_at(broker: BrokerProcess, name: str, *filters: str) -> PacketClient:
    client = await PacketClient.open(broker.port)
    client.send(Connect(5, name, True, 0, None, None, None))
    assert isinstance(await client.receive(), Connack)
    if filters:
        wanted = [Subscription(each, 2, retain_as_published=True) for each in filters]
        client.send(Subscribe(1, wanted))
        assert isinstance(await client.receive(), Suback)
    return client


async def published(broker: BrokerProcess, topic: str, payload: bytes, qos: int = 2) -> None:
    client = await client_at(broker, "publisher")
    async with client:
        client.send(Publish(topic, payload, qos, False, False, 1 if qos else 0))
        if qos == 2:
            assert await client.receive() == Pubrec(1)
            client.send(Pubrel(1))
        if qos:
            assert isinstance(await client.receive(), Puback | Pubcomp)
        client.send(Disconnect())
        assert await client.receive() is None


async def next_message(client: PacketClient) -> Publish:
    packet: Packet | None = await client.receive()
    while not isinstance(packet, Publish):
        assert isinstance(packet, Pubrel), packet
        client.send(Pubcomp(packet.packet_id))
        packet = await client.receive()
    if packet.qos:
        answer = Puback if packet.qos == 1 else Pubrec
        client.send(answer(packet.packet_id))
    return packet


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_messages_go_both_ways_with_their_qos_and_one_hop(
    tmp_path: Path, brokers: tuple[BrokerProcess, BrokerProcess], qos: int
) -> None:
    local, upstream = brokers
    async with uplink(settings_of(tmp_path / "u", brokers, f"gw{qos}"), local):
        above = await client_at(upstream, "above", "site/out/#")
        below = await client_at(local, "below", "in/#")
        async with above, below:
            await published(local, "out/a", b"up", qos)
            up = await next_message(above)
            assert (up.topic, up.payload, up.qos) == ("site/out/a", b"up", qos)
            assert up.properties is not None
            assert up.properties.user_properties == [(HOPS_PROPERTY, f"gw{qos}")]
            await published(upstream, "site/in/a", b"down", qos)
            down = await next_message(below)
            assert (down.topic, down.payload, down.qos) == ("in/a", b"down", qos)


async def test_what_two_gateways_share_goes_round_neither(
    tmp_path: Path, brokers: tuple[BrokerProcess, BrokerProcess]
) -> None:
    local, upstream = brokers
    turned = (upstream, local)
    # Each broker is the other's upstream broker: the smallest possible ring.
    async with (
        uplink(settings_of(tmp_path / "a", brokers, "ring-a"), local),
        uplink(settings_of(tmp_path / "b", turned, "ring-b"), upstream),
    ):
        above = await client_at(upstream, "above", "shared/#", "site/#")
        below = await client_at(local, "below", "shared/#")
        async with above, below:
            await published(local, "shared/a", b"1")
            assert (await next_message(below)).payload == b"1"
            assert (await next_message(above)).payload == b"1"
            # The message returns once over the other link, which has not carried it yet.
            await published(local, "out/end", b"2")
            seen = [await next_message(above)]
            while seen[-1].topic != "site/out/end":
                seen.append(await next_message(above))
            assert len(seen) <= 3, [each.topic for each in seen]


async def test_a_second_uplink_on_one_queue_is_refused(
    tmp_path: Path, brokers: tuple[BrokerProcess, BrokerProcess]
) -> None:
    settings = settings_of(tmp_path / "u", brokers, "only")
    async with uplink(settings, brokers[0]):
        with pytest.raises(QueueError, match="another uplink is using"):
            await serve(settings, asyncio.Event())


async def test_over_tls_with_a_certificate_each_gateway_has_topics_of_its_own(
    tmp_path: Path, brokers: tuple[BrokerProcess, BrokerProcess]
) -> None:
    site = Site(tmp_path / "ca")
    certificate, key = site.clients["cellar"]
    plain_port = free_port()
    table = ", ".join(f'{name} = "{value}"' for name, value in site.mutual().items())
    upstream = BrokerProcess(
        f'[[listeners]]\nbind = "127.0.0.1"\nport = {plain_port}\n',
        listener_settings=f"tls = {{ {table} }}",
    )
    local = brokers[0]
    given = settings_of(tmp_path / "u", (local, upstream), "tls")
    settings = replace(
        given,
        remote=replace(
            given.remote, host="localhost", tls=TlsFiles(site.authority.ca, certificate, key)
        ),
        routes=(Route(filter="out/#", remote_prefix="users/cellar/"),),
    )
    try:
        await asyncio.to_thread(upstream.start)
        async with uplink(settings, local):
            upstream.port = plain_port
            above = await client_at(upstream, "above", "users/#")
            async with above:
                await published(local, "out/a", b"1")
                received = await next_message(above)
                assert (received.topic, received.payload) == ("users/cellar/out/a", b"1")
    finally:
        upstream.remove()
