"""Checks of a new connection before TLS and before the core, on real sockets."""

import asyncio
import struct
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.server.listeners.address_limits import AddressSettings
from gateway.broker.server.listeners.proxy_header import SIGNATURE
from tests.broker.server.broker import Broker
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import connect

PLAIN = {"protocol": "mqtt"}
PROXY: dict[str, Any] = {"proxy_protocol": True, "allow_anonymous_network": True}


def let_loopback_count(broker: Broker, connections_max: int, rate: int = 0) -> None:
    addresses = broker.running.listening.addresses
    addresses.replace_settings(AddressSettings(connections_max, rate), 0.0)
    addresses.exempt = ()


def proxied(last: int) -> bytes:
    addresses = bytes([192, 0, 2, last, 10, 0, 0, 1]) + struct.pack(">HH", 40_000, 1883)
    return SIGNATURE + b"\x21\x11" + struct.pack(">H", len(addresses)) + addresses


async def closed(broker: Broker, index: int = 0) -> bool:
    """Return True if a new connection is closed without receiving a byte."""
    client = await broker.open(index)
    try:
        return await client.rest() == b""
    except ConnectionError:
        return True


async def test_a_connection_too_many_of_an_address_is_closed_and_a_place_is_given_again(
    start: Start,
) -> None:
    broker = await start(PLAIN)
    let_loopback_count(broker, 2)
    first = await broker.open()
    assert await first.log_in("a") == 0
    assert await (await broker.open()).log_in("b") == 0
    assert await closed(broker)
    assert broker.errors == {"max_connections_per_address": 1}
    statistics = broker.running.event_loop.broker.statistics
    assert statistics.connections_accepted == 2
    first.cut()
    await broker.eventually(lambda: statistics.connections_open == 1)
    assert await (await broker.open()).log_in("c") == 0


async def test_websocket_and_plain_connections_of_an_address_count_together(start: Start) -> None:
    broker = await start(PLAIN, {"protocol": "websocket"})
    let_loopback_count(broker, 1)
    assert await (await broker.open(1)).connect_in_frames("a") == 0
    assert await closed(broker)


async def test_loopback_and_unix_sockets_have_no_such_limits(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "mqtt.sock"
    broker = await start(PLAIN, {"protocol": "unix", "path": str(path)})
    broker.running.listening.addresses.replace_settings(AddressSettings(1, 1), 0.0)
    for number in range(12):
        assert await (await broker.open(number % 2)).log_in(f"c{number}") == 0
    assert broker.errors == {}


async def test_a_listener_takes_no_more_new_connections_a_second_than_it_may(start: Start) -> None:
    broker = await start(PLAIN | {"max_connection_rate": 1}, PLAIN)
    for number in range(10):
        assert await (await broker.open()).log_in(f"c{number}") == 0
    assert await closed(broker)
    assert broker.errors == {"max_connection_rate": 1}
    assert await (await broker.open(1)).log_in("elsewhere") == 0


async def test_behind_a_proxy_the_address_that_the_header_names_counts(start: Start) -> None:
    broker = await start({**PROXY}, PLAIN)
    broker.running.listening.addresses.replace_settings(AddressSettings(1, 0), 0.0)
    first, second, other = [await broker.open() for _ in range(3)]
    first.send(proxied(7) + connect("a"))
    assert (await first.packet())[3] == 0
    second.send(proxied(7) + connect("b"))
    assert await second.rest() == b""
    other.send(proxied(8) + connect("c"))
    assert (await other.packet())[3] == 0
    assert broker.errors == {"max_connections_per_address": 1}
    first.cut()
    counted = broker.running.listening.addresses
    await broker.eventually(lambda: "192.0.2.7" not in counted._entries)


@pytest.mark.parametrize("count", [50])
async def test_a_flood_of_refused_connections_leaves_nothing_behind(
    start: Start, count: int
) -> None:
    broker = await start(PLAIN)
    let_loopback_count(broker, 1)
    assert await (await broker.open()).log_in("a") == 0
    assert await asyncio.gather(*[closed(broker) for _ in range(count)]) == count * [True]
    assert len(broker.running.event_loop.channels) == 1
    assert broker.errors == {"max_connections_per_address": count}
