"""The state that the event loop keeps for a connection."""

from gateway.broker.core.sessions.connection import Connection
from gateway.broker.server.event_loop.channel import Channel
from gateway.broker.wire.decoder import Decoder


class Unconnected(Channel):
    """A channel without a socket."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection

    def write(self) -> None:
        raise NotImplementedError

    def update_reading(self) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


def channel() -> Unconnected:
    return Unconnected(Connection("127.0.0.1:1", Decoder(1024), anonymous=True, now=0.0))


def test_a_new_connection_is_read_from_and_has_nothing_left_over() -> None:
    new = channel()
    assert not new.has_more_input()
    assert (new.overloaded, new.lost, new.unread, new.unread_counted) == (False, False, b"", 0)


def test_a_client_is_behind_while_bytes_or_packets_of_it_wait_for_a_slice() -> None:
    one = channel()
    one.unread = b"\xc0\0"
    assert one.has_more_input()
    one.unread = b""
    one.connection.has_more_work = True
    assert one.has_more_input()
    one.connection.free_memory()
    assert not one.has_more_input()
