"""MQTT over TCP or a Unix socket: transfers bytes and enforces limits.

PROXY headers and WebSocket frames are handled in separate modules. If a connection uses neither,
all data from one read is passed to the broker's event loop in a single call.
"""

import asyncio
from typing import cast

from gateway.broker.core.sessions.connection import ConnectionState
from gateway.broker.core.violation import Violation
from gateway.broker.server.event_loop.channel import Channel
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.broker.server.listeners.address_limits import AddressLimits
from gateway.broker.server.listeners.lingering import LINGER_SECONDS, linger_on
from gateway.broker.server.listeners.policy import AdmissionPolicy
from gateway.broker.wire.codes import ADMINISTRATIVE_ACTION, PROTOCOL_ERROR
from gateway.process.tls_transport import TlsTransport

CLOSE_SECONDS = 5.0
"""Time for a closed connection to send its remaining data, before it is aborted."""


class MqttProtocol(asyncio.Protocol, Channel):
    """A client's connection: an asyncio protocol, and a channel of the broker's event loop."""

    def __init__(self, event_loop: EventLoop, policy: AdmissionPolicy) -> None:
        super().__init__()
        self._event_loop = event_loop
        self.policy = policy
        self.transport: asyncio.Transport
        self._full = False
        """True if the transport's send buffer is full."""
        self._is_ending = False
        """True if the connection is being closed. Nothing is written any more."""
        self._cut: asyncio.TimerHandle | None = None
        """Timer that aborts a connection whose peer does not read the last data, or None."""
        self._counted: tuple[AddressLimits, str] | None = None
        """The counters by address and the key under which this connection is counted, or None."""

    def set_address_share(self, addresses: AddressLimits, key: str) -> None:
        """Count this connection towards the limit of its client address until it is closed.

        `key` is the key that `AddressLimits.enter` returned.
        """
        self._counted = addresses, key
        share = addresses.share_of(key)
        if share is not None:
            self.connection.set_address_share(share, asyncio.get_running_loop().time())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of a newly connected client, and create the MQTT connection."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(self._event_loop.limits.max_write_buffer_bytes)
        self.is_encrypted = isinstance(transport, TlsTransport)
        address = text_of(transport.get_extra_info("peername"))
        policy = self.policy
        self.connection = self._event_loop.accept(
            self,
            address,
            anonymous=policy.anonymous,
            share=policy.share,
            listener=policy.listener,
        )
        self.connection.is_local = policy.is_local
        if policy.is_over:
            self.close_for("listener_closed", "its listener was closed", ADMINISTRATIVE_ACTION)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to the event loop, in one call per read."""
        self._event_loop.receive(self, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report to the event loop that either side has closed the connection."""
        if self._cut is not None:
            self._cut.cancel()
        self._event_loop.closing.forget(self)
        if self._counted is not None:
            addresses, key = self._counted
            self._counted = None
            addresses.leave(key, asyncio.get_running_loop().time())
        self._event_loop.lose(self)

    def pause_writing(self) -> None:
        """Stop sending to a peer that reads too slowly, and stop reading from it."""
        self._full = True
        self._event_loop.set_writable(self, writable=False)
        self.update_reading()

    def resume_writing(self) -> None:
        """Resume sending to, and reading from, a peer that has read the buffered data."""
        self._full = False
        self._event_loop.set_writable(self, writable=True)
        self.update_reading()

    def close_for(self, reason: str, detail: str, reason_code: int = PROTOCOL_ERROR) -> None:
        """Close the connection for a reason outside MQTT packets, such as an invalid TLS record."""
        self._event_loop.close_for(self, Violation(reason, reason_code, detail))

    def update_reading(self) -> None:
        """Pause reading from the socket, or resume it if more input can be processed now."""
        if self._is_ending or self.transport.is_closing():
            return
        wanted = self._can_take_more()
        if wanted and not self.transport.is_reading():
            self.transport.resume_reading()
        elif not wanted and self.transport.is_reading():
            self.transport.pause_reading()
        self._event_loop.set_reading(self.connection, reading=wanted)

    def _can_take_more(self) -> bool:
        connection = self.connection
        return not (
            self._full
            or self.overloaded
            or self.throttled
            or self.has_more_input()
            or connection.state in (ConnectionState.AUTHENTICATING, ConnectionState.CLOSED)
            or connection.deferred.is_full
        )

    def write(self) -> None:
        """Write the core's outgoing data to the socket in one call.

        Close the network connection if the core has closed the MQTT connection.
        """
        connection = self.connection
        if not connection.outgoing.is_empty():
            data = self.take_outgoing()
            if not self.lost:
                self.transport.write(data)
        if connection.closing:
            self.end()

    def end(self) -> None:
        """Close the connection after all data has been sent.

        Data that the client is still sending is received and discarded. If the socket were closed
        with unread data, a TCP reset would follow, and the client would lose data that it has not
        read yet.
        """
        transport = self.transport
        if self._is_ending or transport.is_closing():
            return
        self._is_ending = True
        seconds = CLOSE_SECONDS if transport.get_write_buffer_size() else LINGER_SECONDS
        if self.connection.has_disconnected or not self._was_answered():
            transport.close()
        elif isinstance(transport, TlsTransport):
            transport.end_before(linger_on)
        else:
            linger_on(transport)
        self.cut_later(seconds)

    def take_outgoing(self) -> bytes:
        """Return all packets that can be sent now, as one byte string. Count the bytes as sent."""
        data = self.connection.take_outgoing()
        self._event_loop.broker.statistics.bytes_sent += len(data)
        return data

    def abort(self) -> None:
        """Close the connection immediately, without sending remaining data."""
        self.transport.abort()

    def _was_answered(self) -> bool:
        """Return True if the broker has sent data that the client might not have read yet."""
        return self.connection.version != 0

    def cut_later(self, seconds: float = CLOSE_SECONDS) -> None:
        """Abort the connection after `seconds` if it is still open."""
        if self._cut is None:
            loop = asyncio.get_running_loop()
            self._cut = loop.call_later(seconds, self.transport.abort)
            self._event_loop.closing.add(self)


def text_of(peername: object) -> str:
    """Return a peer's address as printable ASCII, for logs and the journal.

    The address of a Unix socket can contain any bytes. It can be a path that is not UTF-8 (a str
    with surrogates), an abstract name (bytes that begin with NUL), or a name with line breaks.
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
