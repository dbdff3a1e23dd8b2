"""A connection on a plain byte stream, whose peer may have any name."""

import asyncio
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.server.listeners.stream import text_of
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import connect

PLAIN = {"protocol": "mqtt"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mqtt.sock"


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
        peer.send(b"\x00\x00")  # a violation: the name is logged as well
        assert await loop.sock_recv(peer, 100) == b""
    other = await broker.open()
    assert await other.log_in("other") == 0


@given(st.one_of(st.binary(max_size=108), st.text(max_size=108), st.none()))
def test_the_text_of_any_name_can_be_written_down(name: bytes | str | None) -> None:
    text = text_of(name)
    assert text.isascii()
    assert text.isprintable()
