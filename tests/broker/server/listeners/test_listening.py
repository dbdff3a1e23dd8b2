"""Several listeners of one broker: the connections that each accepts, and their limits."""

import socket
import stat
from pathlib import Path

import pytest

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connect
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import publish, subscribe
from tests.peers.websocket_client import BINARY, frame_of

PLAIN = {"protocol": "mqtt"}


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
        assert await client.log_in(name) == 0
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
    assert await (await broker.open(1)).log_in("a") == 0


async def test_a_socket_at_which_a_process_listens_is_left_alone(start: Start, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(path))
        taken.listen()
        with pytest.raises(OSError, match=r"another process listens there: '.*mqtt\.sock'"):
            await start(PLAIN, {"protocol": "unix", "path": str(path)})
    assert path.is_socket()  # noqa: ASYNC240


async def test_a_file_that_is_no_socket_is_left_alone(start: Start, path: Path) -> None:
    path.write_text("precious")  # noqa: ASYNC240
    with pytest.raises(FileExistsError, match="exists and is not a socket: remove it"):
        await start(PLAIN, {"protocol": "unix", "path": str(path)})
    assert path.read_text() == "precious"  # noqa: ASYNC240


# -- rules of a listener


@pytest.mark.parametrize("protocol", ["mqtt", "websocket"])
async def test_a_listeners_own_limit_refuses_at_connect_and_gives_a_freed_place(
    start: Start, protocol: str
) -> None:
    broker = await start({"protocol": protocol, "max_connections": 1}, PLAIN)
    first = await broker.open()
    await (first.log_in if protocol == "mqtt" else first.connect_in_frames)("a")
    refused = await broker.open()
    assert await (refused.log_in if protocol == "mqtt" else refused.connect_in_frames)("b") == 3
    assert broker.errors == {"max_connections": 1}
    assert await (await broker.open(1)).log_in("c") == 0, "the other listener has places"
    first.abort()
    await broker.eventually(lambda: len(broker.addresses()) == 1)
    late = await broker.open()
    assert await (late.log_in if protocol == "mqtt" else late.connect_in_frames)("d") == 0


async def test_a_client_of_mqtt_5_receives_0x88(start: Start) -> None:
    broker = await start({"max_connections": 1}, PLAIN)
    assert await (await broker.open()).log_in("a") == 0
    refused = await broker.open()
    refused.send(encode(Connect(5, "b", True, 0, None, None, None), 5))
    assert (await refused.packet())[3] == 0x88
    assert await refused.rest() == b""


async def test_anonymous_clients_come_in_where_the_listener_allows_it(
    start: Start, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    users.touch(0o600)
    broker = await start(PLAIN, {"anonymous": False}, users=users)
    assert await (await broker.open(0)).log_in("a") == 0
    assert await (await broker.open(1)).log_in("b") == 5
