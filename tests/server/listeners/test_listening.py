"""Several doors of one broker: what each is, who may come in, how many, and for whom."""

import asyncio
import socket
import stat
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.server.listeners.proxy_header import SIGNATURE
from gateway.server.listeners.stream import text_of
from gateway.wire.encoder import encode
from gateway.wire.packets import Connect
from tests.server.client import BINARY, frame_of
from tests.server.conftest import Start
from tests.system.mqtt_bytes import PINGREQ, connect, publish, subscribe

PROXY: dict[str, Any] = {"proxy_protocol": True, "allow_anonymous_network": True}
PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"
PROXIED = SIGNATURE + bytes.fromhex("2111000c") + bytes([192, 0, 2, 7, 10, 0, 0, 1])
PROXIED += struct.pack(">HH", 40_000, 1883)
OWN = SIGNATURE + bytes.fromhex("20000000")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mqtt.sock"


async def test_clients_of_all_kinds_of_listeners_meet_on_one_topic(
    start: Start, path: Path
) -> None:
    websocket, unix = {"protocol": "websocket"}, {"protocol": "unix", "path": str(path)}
    broker = await start(PLAIN, PLAIN | {"bind": "::1"}, websocket, unix)
    assert [(each["protocol"], each.get("path")) for each in broker.listeners] == [
        ("mqtt", None),
        ("mqtt", None),
        ("websocket", "/mqtt"),
        ("unix", str(path)),
    ]
    clients = [await broker.open(index) for index in (0, 1, 3)]
    for name, client in zip("abc", clients, strict=True):
        assert await client.connect(name) == 0
        client.send(subscribe(1, ("t", 0)))
        await client.packet()
    page = await broker.open(2)
    assert await page.connect_in_frames("d") == 0
    page.send(frame_of(BINARY, publish("t", b"x")))
    assert [await client.packet() for client in clients] == 3 * [publish("t", b"x")]
    addresses = sorted(broker.addresses())
    assert [each.rpartition(":")[0] for each in addresses] == [
        "127.0.0.1",
        "127.0.0.1",
        "[::1]",
        "",
    ]
    assert addresses[-1] == "local"


# -- Unix sockets


async def test_the_file_of_a_unix_socket_has_mode_0660_and_goes_with_the_broker(
    start: Start, path: Path
) -> None:
    broker = await start(PLAIN, {"protocol": "unix", "path": str(path)})
    mode = path.lstat().st_mode  # noqa: ASYNC240
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o660
    broker.running.listening.close()
    assert not path.exists()  # noqa: ASYNC240


async def test_the_socket_of_a_killed_broker_is_replaced(start: Start, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    broker = await start(PLAIN, {"protocol": "unix", "path": str(path)})
    assert await (await broker.open(1)).connect("a") == 0


async def test_a_socket_on_which_somebody_listens_is_left_alone(start: Start, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(path))
        taken.listen()
        with pytest.raises(OSError, match=r"another process listens there: '.*mqtt\.sock'"):
            await start(PLAIN, {"protocol": "unix", "path": str(path)})
    assert path.is_socket()  # noqa: ASYNC240


async def test_a_file_that_is_no_socket_is_left_alone(start: Start, path: Path) -> None:
    path.write_text("precious")  # noqa: ASYNC240
    with pytest.raises(FileExistsError, match="is there and is no socket"):
        await start(PLAIN, {"protocol": "unix", "path": str(path)})
    assert path.read_text() == "precious"  # noqa: ASYNC240


# -- rules of a listener


@pytest.mark.parametrize("protocol", ["mqtt", "websocket"])
async def test_a_listeners_own_limit_refuses_at_connect_and_gives_a_freed_place(
    start: Start, protocol: str
) -> None:
    broker = await start({"protocol": protocol, "max_connections": 1}, PLAIN)
    first = await broker.open()
    await (first.connect if protocol == "mqtt" else first.connect_in_frames)("a")
    refused = await broker.open()
    assert await (refused.connect if protocol == "mqtt" else refused.connect_in_frames)("b") == 3
    assert broker.errors == {"max_connections": 1}
    assert await (await broker.open(1)).connect("c") == 0, "the other listener has places"
    first.cut()
    await broker.eventually(lambda: len(broker.addresses()) == 1)
    late = await broker.open()
    assert await (late.connect if protocol == "mqtt" else late.connect_in_frames)("d") == 0


async def test_a_client_of_mqtt_5_is_told_0x88(start: Start) -> None:
    broker = await start({"max_connections": 1}, PLAIN)
    assert await (await broker.open()).connect("a") == 0
    refused = await broker.open()
    refused.send(encode(Connect(5, "b", True, 0, None, None, None), 5))
    assert (await refused.packet())[3] == 0x88
    assert await refused.rest() == b""


async def test_anonymous_clients_come_in_where_the_listener_allows_it(
    start: Start, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    users.write_text("")
    broker = await start(PLAIN, {"anonymous": False}, users=users)
    assert await (await broker.open(0)).connect("a") == 0
    assert await (await broker.open(1)).connect("b") == 5


NAMES = [
    b"\0\xff\xfe not UTF-8",
    b"\0line\nend\x1b[31m",
    b"\0" + "\N{GRINNING FACE}".encode() * 26,
    b"\0" + b"\xff" * 106,
    b"%s/\xff\xfe",
    b"%s/\xed\xa0\x80 half a pair",
]


@pytest.mark.parametrize("name", NAMES)
async def test_a_peer_s_socket_may_have_any_name(start: Start, path: Path, name: bytes) -> None:
    broker = await start(PLAIN, {"protocol": "unix", "path": str(path)})
    with socket.socket(socket.AF_UNIX) as peer:
        peer.bind(name % bytes(path.parent) if b"%s" in name else name)
        peer.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(peer, str(path))
        await loop.sock_sendall(peer, connect("c"))
        assert (await loop.sock_recv(peer, 100))[:2] == b"\x20\x02"
        (address,) = broker.addresses()
        assert address.isascii()
        assert address.isprintable()
        peer.send(b"\x00\x00")  # wrong: the name goes into the log as well
        assert await loop.sock_recv(peer, 100) == b""
    other = await broker.open()
    assert await other.connect("other") == 0


@given(st.one_of(st.binary(max_size=108), st.text(max_size=108), st.none()))
def test_the_text_of_any_name_can_be_written_down(name: bytes | str | None) -> None:
    text = text_of(name)
    assert text.isascii()
    assert text.isprintable()


# -- the PROXY protocol


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


async def test_a_connection_of_the_proxys_own_keeps_its_address(start: Start) -> None:
    broker = await start({**PROXY}, PLAIN)
    client = await broker.open()
    client.send(OWN)
    assert await client.connect("a") == 0
    assert broker.addresses()[0].startswith("127.0.0.1:")


async def test_websocket_behind_a_proxy_has_the_header_first(start: Start) -> None:
    broker = await start({"protocol": "websocket", **PROXY}, PLAIN)
    client = await broker.open()
    client.send(PROXIED)
    assert await client.connect_in_frames("a") == 0
    assert broker.addresses() == ["192.0.2.7:40000"]


@pytest.mark.parametrize("sent", [connect("a"), SIGNATURE + b"\x21\x11\xff\xff", b"PROXY TCP4 "])
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
    client.cut()
    await broker.eventually(lambda: broker.status()["connections"]["open"] == 0)
    late = await broker.open()
    late.send(PROXIED)
    assert await late.connect("b") == 0


# -- what the configuration says reaches the core


async def test_limits_of_mqtt_5_reach_the_core(start: Start) -> None:
    broker = await start(PLAIN, max_topic_alias=3, check_payload_format=True, max_keep_alive="60s")
    limits = broker.running.event_loop.limits
    assert limits.max_topic_alias == 3
    assert limits.check_payload_format
    assert limits.max_keep_alive_seconds == 60
    client = await broker.open()
    client.send(encode(Connect(5, "a", True, 3600, None, None, None), 5))
    connack = await client.packet()
    assert b"\x22\x00\x03" in connack, "topic alias maximum"
    assert b"\x13\x00\x3c" in connack, "server keep alive"
