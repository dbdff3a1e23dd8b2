"""Connects to serial ports at TCP addresses, using raw bytes, RFC 2217 or Modbus TCP.

The kernel detects a server that no longer responds. On a silent line, the kernel sends `KEEP_ALIVE`
probes. After data has been sent, the kernel waits at most `UNACKNOWLEDGED_SECONDS_MAX` for the
acknowledgement.
"""

import asyncio
import socket
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from firmware_bridge.protocols.modbus_tcp import MessageStream, NotModbusTcp
from firmware_bridge.serial.link import READ_BYTES, Link, PortLost
from firmware_bridge.serial.port_errors import sentence_of
from firmware_bridge.serial.telnet import NotRfc2217, Telnet
from gateway.process.declarations.serial_line import FlowControl, Line

# Timeout for the name lookup, the connection and, with RFC 2217, the settings of the line.
OPEN_SECONDS_MAX = 10.0
# Timeout for one Modbus TCP message. It has at most 260 bytes, so the rest will not arrive later.
MESSAGE_SECONDS_MAX = 10.0
# Idle seconds before the first probe, seconds between probes, and probes without a response.
KEEP_ALIVE = (10, 5, 3)
UNACKNOWLEDGED_SECONDS_MAX = 25.0
# Bytes received this soon after connecting may be the end of a frame, delayed by the server.
NETWORK_MID_LINE_SECONDS = 0.5


class ServerClosed(PortLost):
    """Raised if the server closed the connection. The server itself may still be available."""


class TcpLink(Link):
    """A raw TCP connection, which carries exactly the bytes of the serial line."""

    def __init__(self, path: str, connection: socket.socket) -> None:
        super().__init__(path)
        self.mid_line_seconds = NETWORK_MID_LINE_SECONDS
        self._connection = connection

    def write(self, data: bytes) -> bool:
        """Write without waiting. Return False if the connection did not accept all bytes."""
        try:
            return self._connection.send(data) == len(data)
        except OSError:
            return False  # The next read finds out that the connection is lost.

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _descriptor(self) -> int:
        return self._connection.fileno()

    def _receive(self) -> bytes:
        try:
            data = self._connection.recv(READ_BYTES)
        except BlockingIOError:
            raise
        except ConnectionResetError as error:
            raise ServerClosed(f"{self.path}: {sentence_of(self.path, error)}") from error
        except OSError as error:
            raise PortLost(f"{self.path}: {sentence_of(self.path, error)}") from error
        if not data:
            raise ServerClosed(f"{self.path}: the server closed the connection")
        return data


class ModbusTcpLink(TcpLink):
    """A Modbus TCP connection. Each read returns only complete messages.

    A caller that discards received bytes therefore always discards whole messages.
    """

    def __init__(self, path: str, connection: socket.socket) -> None:
        super().__init__(path, connection)
        self._stream = MessageStream()
        self._begun_at = 0.0

    def _receive(self) -> bytes:
        if self._stream.has_begun and time.monotonic() - self._begun_at > MESSAGE_SECONDS_MAX:
            raise PortLost(
                f"{self.path}: the server has sent half a message for {MESSAGE_SECONDS_MAX:g} s"
            )
        had_begun = self._stream.has_begun
        try:
            messages = self._stream.feed(super()._receive())
        except NotModbusTcp as error:
            raise PortLost(f"{self.path}: this is not Modbus TCP: {error}") from None
        if messages or not had_begun:
            self._begun_at = time.monotonic()
        return messages


class Rfc2217Link(TcpLink):
    """A TCP connection to a serial port server that supports RFC 2217.

    The server configures its serial line and reports errors on this line.
    """

    def __init__(
        self, path: str, connection: socket.socket, line: Line, flow_control: FlowControl
    ) -> None:
        super().__init__(path, connection)
        self._telnet = Telnet(line, flow_control)

    async def set_up(self) -> None:
        """Negotiate the line settings with the server. Raises PortLost if the server refuses."""
        self._reply()
        while not self._telnet.is_set_up:
            # Data before the line is set was read at another rate.
            await self.read()

    def write(self, data: bytes) -> bool:
        """Write without waiting. Return False if the server does not accept bytes now."""
        return not self._telnet.suspended and super().write(self._telnet.escape(data))

    def set_baud_rate(self, baud_rate: int) -> None:
        """Request another baud rate. Raises PortLost if the request cannot be sent."""
        self._telnet.change_baud_rate(baud_rate)
        self._reply()

    def line_errors(self) -> Mapping[str, int]:
        """Return the line errors that the server has reported since the connection was opened."""
        return self._telnet.errors

    async def read(self) -> bytes:
        """Wait until bytes are received, and return them.

        If the server confirms the line settings before any bytes arrive, the result is empty.
        """
        loop = asyncio.get_running_loop()
        was_set_up = self._telnet.is_set_up
        while True:
            data = self.read_pending()
            if data or self._telnet.is_set_up != was_set_up:
                return data
            await self._wait_readable(loop)

    def _receive(self) -> bytes:
        try:
            data = self._telnet.feed(super()._receive())
        except NotRfc2217 as error:
            raise PortLost(f"{self.path}: {error}") from None
        self._reply()
        return data

    def _reply(self) -> None:
        replies = self._telnet.take_replies()
        if replies and not TcpLink.write(self, replies):
            raise PortLost(f"{self.path}: the server does not read the bytes that are sent to it")


async def open_address(address: str, line: Line, flow_control: FlowControl) -> Link:
    """Connect to `tcp://HOST:PORT`, `rtu+tcp://`, `modbus+tcp://` or `rfc2217://`.

    Raises:
        PortLost: if no server answers within `OPEN_SECONDS_MAX`, or the server does not support
            RFC 2217.
    """
    parts = urlsplit(address)
    assert parts.hostname is not None, "the configuration checks addresses"
    assert parts.port is not None, "the configuration checks addresses"
    try:
        async with asyncio.timeout(OPEN_SECONDS_MAX):
            connection = await _connect(parts.hostname, parts.port)
            if parts.scheme == "modbus+tcp":
                return ModbusTcpLink(address, connection)
            if parts.scheme != "rfc2217":
                return TcpLink(address, connection)
            link = Rfc2217Link(address, connection, line, flow_control)
            try:
                await link.set_up()
            except BaseException:
                link.close()
                raise
            return link
    except TimeoutError:
        fix = "; does it speak RFC 2217?" if parts.scheme == "rfc2217" else ""
        raise PortLost(f"{address}: no answer within {OPEN_SECONDS_MAX:g} s{fix}") from None
    except OSError as error:
        raise PortLost(f"{address}: {sentence_of(address, error)}") from error


async def _connect(host: str, port: int) -> socket.socket:
    """Connect to a host. Return the first connection that succeeds.

    The addresses of the host are tried in order. Raises OSError if none of them accepts a
    connection.
    """
    loop = asyncio.get_running_loop()
    fault = OSError("the name has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        try:
            _prepare(connection)
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            fault = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise fault


def _prepare(connection: socket.socket) -> None:
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle, interval, count = KEEP_ALIVE
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, interval)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, count)
    milliseconds = int(UNACKNOWLEDGED_SECONDS_MAX * 1000)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
