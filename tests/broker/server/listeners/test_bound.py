"""Sockets that listen before the broker accepts connections from them."""

import errno
import socket
from pathlib import Path

import pytest

from gateway.broker.server.listeners.bound import Bound, bind
from gateway.configuration import Listener


def reached(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def port_of(bound: Bound) -> int:
    port: int = bound.sockets[0].getsockname()[1]
    return port


def test_clients_are_kept_by_the_kernel_from_the_first_moment() -> None:
    bound = bind(Listener(port=0))
    try:
        with reached(port_of(bound)):
            pass
    finally:
        bound.close()


def test_localhost_is_all_addresses_that_it_has() -> None:
    bound = bind(Listener(bind="localhost", port=0))
    names = {each.getsockname()[0] for each in bound.sockets}
    bound.close()
    assert "127.0.0.1" in names
    assert names <= {"127.0.0.1", "::1"}


def test_all_addresses_can_follow_one_of_them_which_serves_until_it_is_closed() -> None:
    first = bind(Listener(port=0))
    port = port_of(first)
    everywhere = Listener(bind="0.0.0.0", port=port, allow_anonymous_network=True)  # noqa: S104
    with pytest.raises(OSError, match="cannot listen") as refused:
        bind(everywhere)
    assert refused.value.errno == errno.EADDRINUSE
    second = bind(everywhere, [first])
    with reached(port) as client:
        first.sockets[0].setblocking(True)
        first.sockets[0].accept()[0].close()
        assert client.recv(1) == b""
    first.close()
    with reached(port):
        second.sockets[0].setblocking(True)
        second.sockets[0].accept()[0].close()
    with pytest.raises(OSError, match="cannot listen"):
        bind(Listener(port=port))
    second.close()


def test_where_another_process_has_the_port_nothing_is_left_behind() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="cannot listen: Address already in use"):
            bind(Listener(port=taken.getsockname()[1]))


def test_the_file_of_a_unix_socket_goes_with_it_unless_it_is_anothers(tmp_path: Path) -> None:
    path = tmp_path / "mqtt.sock"
    bound = bind(Listener(protocol="unix", path=path))
    assert path.is_socket()
    bound.close()
    assert not path.exists()
    bound = bind(Listener(protocol="unix", path=path))
    path.unlink()
    path.write_text("another's")
    bound.close()
    assert path.read_text() == "another's"
