"""The base class of the byte client and the packet client: one connection, and how it ends."""

import asyncio
import socket
import struct
from typing import Self

# Long enough for a loaded two-core machine whose disk takes a second for an fsync.
DEADLINE_SECONDS = 60.0


class ClosingProtocol(asyncio.StreamReaderProtocol):
    """A client's end of a connection that closes when the broker closes, as MQTT clients do.

    A stream of asyncio stays open for writing.
    """

    def eof_received(self) -> bool:
        super().eof_received()
        return False


class Connection:
    """One connection to a broker. Used as a context manager, it ends with `cut`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(
        cls, port: int, *, receive_buffer_bytes: int | None = None, closes_too: bool = False
    ) -> Self:
        """Open a TCP connection and send nothing. A small receive buffer makes a slow reader.

        If `closes_too`, the client closes when the broker closes. Otherwise it keeps its side open,
        and a broker that stops waits a second for it.
        """
        loop = asyncio.get_running_loop()
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer_bytes is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, ("127.0.0.1", port))
            limit = receive_buffer_bytes or 2**16
            reader = asyncio.StreamReader(limit)
            kind = ClosingProtocol if closes_too else asyncio.StreamReaderProtocol
            transport, protocol = await loop.create_connection(lambda: kind(reader), sock=sock)
            return cls(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
        except BaseException:
            sock.close()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()

    def finish(self) -> None:
        """Send the end of the stream (TCP FIN), and continue to read."""
        self._writer.write_eof()

    def close(self) -> None:
        """Close the connection in order (TCP FIN), but without a DISCONNECT."""
        self._writer.close()

    def abort(self) -> None:
        """Abort the connection, and discard all bytes that are not yet in the socket."""
        self._writer.transport.abort()

    def cut(self) -> None:
        """Cut the connection with a TCP reset, as a broken network does."""
        sock = self._writer.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
