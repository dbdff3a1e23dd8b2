"""`$SYS` from a real broker on real sockets."""

import asyncio
import re
from pathlib import Path

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Packet,
    Pingreq,
    Pingresp,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)
from tests.broker.server.broker import Broker
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import connect
from tests.peers.packet_client import PacketClient
from tests.peers.websocket_client import BINARY, frame_of
from tests.system.broker_process import BrokerProcess

PLAIN = {"protocol": "mqtt"}
TOPIC_COUNT = 75
TOPICS_PAGE = Path(__file__).parents[4] / "docs" / "system-topics.md"


async def client_of(broker: Broker, client_id: str) -> PacketClient:
    client = await PacketClient.open(broker.listeners[0]["port"])
    client.connect(None, method=None, client_id=client_id)
    assert isinstance(await client.receive(), Connack)
    return client


async def subscribe(client: PacketClient, topic_filter: str) -> None:
    client.send(Subscribe(1, [Subscription(topic_filter, 2)]))
    assert isinstance(await client.receive(), Suback)


async def publishes(client: PacketClient, count: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for _ in range(count):
        packet: Packet | None = await client.receive()
        assert isinstance(packet, Publish), packet
        assert packet.topic not in found
        found[packet.topic.removeprefix("$SYS/broker/")] = packet.payload.decode()
    return found


async def test_a_new_subscriber_gets_every_value_immediately(start: Start) -> None:
    broker = await start(PLAIN, sys_interval="1d")
    async with await client_of(broker, "other") as other, await client_of(broker, "c") as client:
        other.send(Publish("t", b"12345", 0, True, False, 0), Pingreq())
        assert isinstance(await other.receive(), Pingresp)
        await subscribe(client, "$SYS/#")
        values = await publishes(client, TOPIC_COUNT)
        # Nothing else arrives before PINGRESP.
        client.send(Pingreq())
        assert isinstance(await client.receive(), Pingresp)
    assert values["version"].startswith("oncegate version ")
    assert values["uptime"] == "0 seconds"
    assert values["clients/connected"] == values["clients/maximum"] == "2"
    assert values["clients/disconnected"] == "0"
    assert values["subscriptions/count"] == values["retained messages/count"] == "1"
    assert values["store/messages/count"] == values["messages/stored"] == "1"
    assert values["store/messages/bytes"] == str(len(b"\0\1t12345"))
    assert values["publish/messages/received"] == values["packets/publish/received"] == "1"
    assert values["publish/bytes/received"] == "5"
    assert values["messages/received"] == "5"
    assert values["packets/connect/received"] == values["connections/socket/count"] == "2"
    assert values["packets/pingresp/sent"] == values["packets/suback/sent"] == "1"
    assert int(values["bytes/received"]) > 30
    assert int(values["bytes/sent"]) > 10
    assert values["load/sockets/15min"] == "0.00"
    assert values["disk/full"] == "0"
    documented = set(re.findall(r"`([a-z_/ ]+)`", TOPICS_PAGE.read_text(encoding="utf-8")))
    for name in values:
        parts = name.split("/")
        if parts[0] == "packets":
            assert parts[1] in documented
        else:
            assert re.sub("/[0-9]+min$", "", name) in documented


async def test_subscribers_get_what_has_changed_every_sys_interval(start: Start) -> None:
    broker = await start(PLAIN, sys_interval="1s")
    async with await client_of(broker, "c") as client:
        await subscribe(client, "$SYS/#")
        found: list[Publish] = []
        while not (found and found[-1].topic.endswith("uptime") and not found[-1].retain):
            packet = await client.receive()
            assert isinstance(packet, Publish)
            found.append(packet)
    news = {each.topic: each.payload for each in found if not each.retain}
    assert news["$SYS/broker/uptime"] == b"1 seconds"
    assert "$SYS/broker/version" not in news


async def test_load_averages_go_on_without_a_listener(start: Start) -> None:
    broker = await start(PLAIN, sys_interval="1s")
    topics = broker.running.system_topics
    await (await client_of(broker, "early")).__aexit__(None, None, None)
    averages = topics._averages
    await broker.eventually(lambda: averages.values()["connections/1min"] > 0)
    async with await client_of(broker, "c") as client:
        await subscribe(client, "$SYS/broker/load/connections/#")
        values = await publishes(client, 3)
    assert float(values["load/connections/1min"]) > float(values["load/connections/15min"]) > 0


async def test_with_sys_interval_never_nothing_is_said(start: Start) -> None:
    broker = await start(PLAIN, sys_interval="never")
    async with await client_of(broker, "c") as client:
        await subscribe(client, "$SYS/#")
        client.send(Pingreq())
        assert isinstance(await client.receive(), Pingresp)
    assert not broker.running.event_loop.broker.effects.system_subscriptions


async def test_many_new_subscribers_cost_one_count(start: Start) -> None:
    broker = await start(PLAIN, sys_interval="1d")
    topics = broker.running.system_topics
    totals = set()
    for name in ("one", "two", "three"):
        async with await client_of(broker, name) as client:
            await subscribe(client, "$SYS/broker/version")
            await publishes(client, 1)
        totals.add(topics._totals._latest)
    assert len(totals) == 1


async def test_a_filter_that_stands_many_times_in_a_subscribe_is_answered_once(
    start: Start,
) -> None:
    broker = await start(PLAIN, sys_interval="1d")
    async with await client_of(broker, "c") as client:
        client.send(Subscribe(1, [Subscription("$SYS/broker/version", 0)] * 1000))
        assert isinstance(await client.receive(), Suback)
        assert list(await publishes(client, 1)) == ["version"]
        client.send(Pingreq())
        assert isinstance(await client.receive(), Pingresp)


async def test_a_mosquitto_subscriber_reads_the_version(start: Start) -> None:
    broker = await start(PLAIN, sys_interval="1d")
    process = await asyncio.create_subprocess_exec(
        "mosquitto_sub",
        "-p",
        str(broker.listeners[0]["port"]),
        "-t",
        "$SYS/broker/version",
        "-C",
        "1",
        "-W",
        "10",
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert output.startswith(b"oncegate version ")


async def test_a_websocket_client_counts_the_bytes_of_its_packets_alone(start: Start) -> None:
    broker = await start({"protocol": "websocket"}, PLAIN)
    client = await broker.open()
    await client.shake_hands()
    statistics = broker.running.event_loop.broker.statistics
    assert (statistics.bytes_received, statistics.bytes_sent) == (0, 0)
    packet = connect("c")
    client.send(frame_of(BINARY, packet))
    assert (await client.frame())[0] == BINARY
    assert (statistics.bytes_received, statistics.bytes_sent) == (len(packet), 4)


@pytest.mark.slow
async def test_sys_interval_changes_while_the_broker_runs() -> None:
    broker = BrokerProcess('[mqtt]\nsys_interval = "never"')
    try:
        await asyncio.to_thread(broker.start)
        async with await PacketClient.open(broker.port) as client:
            client.connect(None, method=None)
            assert isinstance(await client.receive(), Connack)
            await subscribe(client, "$SYS/broker/uptime")
            broker.replace_in_configuration('"never"', '"1s"')
            answer = await asyncio.to_thread(broker.ask, "reload")
            assert answer["changed"] == ["mqtt.sys_interval"]
            packet = await client.receive()
        assert isinstance(packet, Publish)
        assert packet.topic == "$SYS/broker/uptime"
        assert not packet.retain
    finally:
        broker.remove()
