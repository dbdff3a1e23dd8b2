"""One network connection: bytes in to the core, bytes out to the socket, and the limits between.

`MqttProtocol` is MQTT on a plain byte stream, TCP or a Unix socket. What comes before it or around
it (the PROXY header, WebSocket frames) is a front of its own, so that the plain road stays one call
from the socket to the core.
"""

import asyncio
from typing import TYPE_CHECKING, cast

from gateway.core.limits import PUT_OFF_BYTES_MAX
from gateway.core.sessions.connection import Connection, ConnectionShare, ConnectionState

if TYPE_CHECKING:
    from gateway.server.shell import Shell

CLOSE_SECONDS = 5.0
"""How long a closed connection may take to drain what was written to it before it is cut."""


class Door:
    """The rules of one listener."""

    def __init__(
        self, *, anonymous: bool, share: ConnectionShare | None, origins: tuple[str, ...] = ()
    ) -> None:
        self.anonymous = anonymous
        """Clients are let in that name no user."""
        self.share = share
        self.origins = origins
        """Origins whose pages may connect, beside those of the same host."""


class MqttProtocol(asyncio.Protocol):
    """The transport's view of a connection."""

    def __init__(self, shell: "Shell", door: Door) -> None:
        self._shell = shell
        self._door = door
        self.transport: asyncio.Transport
        self.connection: Connection
        self.overloaded = False
        """Not read from while more is uncommitted than `max_uncommitted` allows."""
        self.unread = b""
        """Read from the socket, and too much for the slice of work that it had."""
        self.unread_from = 0
        """Where in `unread` the next slice begins."""
        self.unread_counted = 0
        self.lost = False
        """The connection is gone, and what came before is not handled yet."""
        self._full = False
        self._cut: asyncio.TimerHandle | None = None
        """Ends the patience with a peer that does not read what it was told last."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(self._shell.limits.max_write_buffer_bytes)
        address = text_of(transport.get_extra_info("peername"))
        self.connection = self._shell.accept(self, address, self._door)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived: let the core decide, once for everything in this read."""
        self._shell.receive(self, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, whoever ended it."""
        if self._cut is not None:
            self._cut.cancel()
        self._shell.lose(self)

    def pause_writing(self) -> None:
        """The peer reads too slowly: nothing more is started for it, nothing more is read."""
        self._full = True
        self._shell.set_writable(self, writable=False)
        self.update_reading()

    def resume_writing(self) -> None:
        """The peer has caught up."""
        self._full = False
        self._shell.set_writable(self, writable=True)
        self.update_reading()

    def violate(self, reason: str, detail: str) -> None:
        """What surrounds the packets is wrong: count it under `reason`, say it, close."""
        self._shell.violate(self, reason, detail)

    def update_reading(self) -> None:
        """Read from the socket only while what comes in can be worked on."""
        if self.transport.is_closing():
            return
        wanted = self._can_take_more()
        if wanted and not self.transport.is_reading():
            self.transport.resume_reading()
        elif not wanted and self.transport.is_reading():
            self.transport.pause_reading()
        self._shell.set_heard(self.connection, heard=wanted)

    def _can_take_more(self) -> bool:
        connection = self.connection
        return not (
            self._full
            or self.overloaded
            or self.is_behind()
            or connection.state in (ConnectionState.AUTHENTICATING, ConnectionState.CLOSED)
            or connection.put_off.bytes_count > PUT_OFF_BYTES_MAX
        )

    def is_behind(self) -> bool:
        """Return whether there is more of this client's to be handled than it had a slice for."""
        return self.connection.behind or bool(self.unread)

    def write(self) -> None:
        """Hand the core's bytes to the socket in one call, and close if it says so."""
        connection = self.connection
        if not connection.outgoing.is_empty():
            data = self.take_outgoing()
            if not self.lost:
                self.transport.write(data)
        if connection.closing and not self.transport.is_closing():
            self.transport.close()
            self.cut_later()

    def take_outgoing(self) -> bytes:
        """Return the packets that may leave now in one piece, counted as sent."""
        data = self.connection.take_outgoing()
        self._shell.broker.statistics.bytes_sent += len(data)
        return data

    def cut_later(self) -> None:
        """Do not wait for ever for a peer that reads nothing of what it was told last."""
        if self._cut is None:
            loop = asyncio.get_running_loop()
            self._cut = loop.call_later(CLOSE_SECONDS, self.transport.abort)


def text_of(peername: object) -> str:
    """Return a peer's address as it may stand in logs and in the journal: printable ASCII.

    A Unix socket may be bound to any bytes: to a path that is not UTF-8 (a str with surrogates), to
    an abstract name (bytes that begin with NUL), to line ends.
    """
    if isinstance(peername, tuple) and len(peername) >= 2:
        host, port = peername[:2]
        return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    if isinstance(peername, bytes):
        peername = peername.decode("utf-8", "surrogateescape")
    name = str(peername or "local")
    if name.startswith("\0"):
        name = f"@{name[1:]}"
    if name.isascii() and name.isprintable():
        return name
    return name.encode("unicode_escape").decode("ascii")
