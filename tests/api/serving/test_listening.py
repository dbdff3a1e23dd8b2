"""Listening on the port, the shutdown, and visitors who break the protocol."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.main import serve
from api.serving.listening import CannotListen, PortTaken, holder_of, listen, url_of
from api.settings import ApiSettings
from tests.system.broker_process import free_port

HOLD_A_PORT = (
    "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); "
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)


@pytest.fixture
def holder() -> Iterator[tuple[int, int]]:
    """Yield process id and port of another process that listens on a port."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_A_PORT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.kill()


async def test_a_taken_port_is_named_with_its_holder_and_the_option_to_change(
    tmp_path: Path, holder: tuple[int, int]
) -> None:
    pid, port = holder
    settings = ApiSettings(port=port, status_socket=tmp_path / "status.sock")
    with pytest.raises(PortTaken) as caught:
        await serve(settings, asyncio.Event())
    message = str(caught.value)
    for shown in (
        f"port {port}",
        f"process {pid} (",
        "import socket",
        "[api] port",
        "--port",
        "ONCEGATE_API_PORT",
    ):
        assert shown in message
    assert "\n" not in message


def test_a_port_that_no_process_holds_has_no_holder() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert holder_of(port) is not None
    assert holder_of(port) is None


def test_a_holder_whose_process_is_hidden_is_named_by_its_user(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1\n"
    )
    assert holder_of(8080, tmp_path) == "a process of user root"
    assert holder_of(8081, tmp_path) is None


@pytest.mark.parametrize(
    ("bind", "shown"),
    [("192.0.2.1", "no such address"), ("no such host", "no address"), ("x" * 300, "no address")],
)
def test_an_address_that_is_not_this_machines_is_said_to_be_so(
    tmp_path: Path, bind: str, shown: str
) -> None:
    with pytest.raises(CannotListen, match=shown) as caught:
        listen(ApiSettings(bind=bind, port=0, status_socket=tmp_path / "s"))
    assert "[api] bind" in str(caught.value)


def test_the_address_of_an_ipv6_listener_is_one_a_browser_takes(tmp_path: Path) -> None:
    with listen(ApiSettings(bind="::1", port=0, status_socket=tmp_path / "s")) as listener:
        assert url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}/"
