"""MQTT through the PROXY protocol: the client's address, and connections without a header."""

import asyncio
import struct
from typing import Any

import pytest

from gateway.broker.server.listeners.proxy_header import SIGNATURE
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import PINGREQ, connect

PROXY: dict[str, Any] = {"proxy_protocol": True, "allow_anonymous_network": True}
PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"
PROXIED = SIGNATURE + bytes.fromhex("2111000c") + bytes([192, 0, 2, 7, 10, 0, 0, 1])
PROXIED += struct.pack(">HH", 40_000, 1883)
OWN = SIGNATURE + bytes.fromhex("20000000")


async def test_the_address_is_that_of_the_proxy_protocol_however_it_arrives(start: Start) -> None:
    broker = await start({**PROXY}, PLAIN)
    whole, in_pieces = await broker.open(), await broker.open()
    whole.send(PROXIED + connect("a"))
    assert (await whole.packet())[3] == 0
    for byte in PROXIED + connect("b"):
        in_pieces.send(bytes([byte]))
        await asyncio.sleep(0)
    assert (await in_pieces.packet())[3] == 0
    assert broker.addresses() == 2 * ["192.0.2.7:40000"]
    in_pieces.send(PINGREQ)
    assert await in_pieces.packet() == PINGRESP


async def test_a_line_of_version_1_names_the_address_as_well(start: Start) -> None:
    broker = await start({**PROXY}, PLAIN)
    client = await broker.open()
    client.send(b"PROXY TCP6 2001:db8::7 ::1 40000 1883\r\n" + connect("a"))
    assert (await client.packet())[3] == 0
    assert broker.addresses() == ["[2001:db8::7]:40000"]


@pytest.mark.parametrize(
    ("believed", "name", "code", "user"),
    [(True, b"cellar", 0, "cellar"), (False, b"cellar", 0, None), (True, b"a\nb", None, None)],
)
async def test_a_proxy_is_believed_whom_a_certificate_named_where_the_listener_allows_it(
    start: Start, believed: bool, name: bytes, code: int | None, user: str | None
) -> None:
    broker = await start({**PROXY, "proxy_protocol_certificates": believed}, PLAIN)
    proven = b"\x03\0\0\0\0" + struct.pack(">BH", 0x22, len(name)) + name
    proven = struct.pack(">BH", 0x20, len(proven)) + proven
    client = await broker.open()
    addresses = PROXIED[len(SIGNATURE) + 4 :]
    head = b"\x21\x11" + struct.pack(">H", len(addresses) + len(proven))
    client.send(SIGNATURE + head + addresses + proven + connect("a"))
    if code is None:
        assert await client.rest() == b""
        assert broker.errors == {"proxy_header": 1}
    else:
        assert (await client.packet())[3] == code
        assert broker.running.event_loop.broker.state.sessions["a"].username == user


async def test_a_connection_of_the_proxys_own_keeps_its_address(start: Start) -> None:
    broker = await start({**PROXY}, PLAIN)
    client = await broker.open()
    client.send(OWN)
    assert await client.log_in("a") == 0
    assert broker.addresses()[0].startswith("127.0.0.1:")


async def test_websocket_behind_a_proxy_has_the_header_first(start: Start) -> None:
    broker = await start({"protocol": "websocket", **PROXY}, PLAIN)
    client = await broker.open()
    client.send(PROXIED)
    assert await client.connect_in_frames("a") == 0
    assert broker.addresses() == ["192.0.2.7:40000"]


@pytest.mark.parametrize("sent", [connect("a"), SIGNATURE + b"\x21\x11\xff\xff", b"PROXY \r\n"])
async def test_a_connection_without_the_header_is_closed_and_counted(
    start: Start, sent: bytes
) -> None:
    broker = await start({**PROXY}, PLAIN)
    client = await broker.open()
    client.send(sent)
    assert await client.rest() == b""
    assert broker.errors == {"proxy_header": 1}


async def test_half_a_proxy_header_does_not_outlive_the_connect_timeout(start: Start) -> None:
    broker = await start({**PROXY}, PLAIN, connect_timeout="100ms")
    client = await broker.open()
    client.send(PROXIED[:20])
    assert await client.rest() == b""
    assert broker.errors == {"connect_timeout": 1}


async def test_a_client_that_leaves_within_its_header_leaves_nothing_behind(start: Start) -> None:
    broker = await start({**PROXY, "max_connections": 1}, PLAIN)
    client = await broker.open()
    client.send(PROXIED[:20])
    await broker.eventually(lambda: broker.status()["connections"]["open"] == 1)
    client.abort()
    await broker.eventually(lambda: broker.status()["connections"]["open"] == 0)
    late = await broker.open()
    late.send(PROXIED)
    assert await late.log_in("b") == 0


@pytest.mark.parametrize("claim", [PROXIED, b"PROXY TCP4 192.0.2.7 10.0.0.1 40000 1883\r\n"])
async def test_a_header_is_no_claim_where_the_listener_expects_none(
    start: Start, claim: bytes
) -> None:
    broker = await start(PLAIN)
    client = await broker.open()
    client.send(claim + connect("a"))
    assert await client.rest() == b""
    assert broker.addresses() == []
    assert "a" not in broker.running.event_loop.broker.state.sessions
