"""The broker's end of a link: a transport as asyncio passes it to a protocol.

Bytes that were written and have not reached the client stay in its buffer. Above a limit the
protocol is notified, as for a socket whose peer reads too slowly.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tests.instruments.simulation.network import Link


class ServerTransport(asyncio.Transport):
    """The broker's end of a link, as a transport of asyncio."""

    def __init__(self, link: "Link") -> None:
        super().__init__()
        self._link = link
        self._closing = False
        self._lost = False
        self._paused = False
        self._high = 64 * 1024
        self.spy: Callable[[Link, bytes], None] | None = None
        """Called with all written bytes at the time of writing."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self._link.name, 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        self._high = high

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._link.to_broker.reading

    def pause_reading(self) -> None:
        self._link.to_broker.reading = False

    def resume_reading(self) -> None:
        pipe = self._link.to_broker
        pipe.reading = True
        self._link.timeline.after(0.0, pipe.arrive)

    def write(self, data: Any) -> None:
        if self._closing:
            return
        if self.spy is not None:
            self.spy(self._link, data)
        pipe = self._link.to_client
        if not pipe.open:
            # If the other end does not read, the bytes stay in the socket's buffer.
            pipe.pending_bytes += len(data)
        pipe.send(data)
        if not self._paused and pipe.pending_bytes > self._high:
            self._paused = True
            self._protocol().pause_writing()

    def write_eof(self) -> None:
        """Send the end of the broker's stream. Bytes that the client sends still arrive."""
        link = self._link
        link.note_broker_gone()
        link.to_client.end(self._client_has_read_all)

    def _client_has_read_all(self) -> None:
        self._link.client_sees_close()
        self._link.timeline.after(self._link.delay(), self.end)

    def get_write_buffer_size(self) -> int:
        return self._link.to_client.pending_bytes

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._link.protocol = cast(asyncio.Protocol, protocol)

    def look_at_buffer(self) -> None:
        """Update the buffer after the other end has read."""
        pipe = self._link.to_client
        if self._lost or self._link.protocol is None:
            return
        if self._closing and not pipe.pending_bytes:
            self._lose()
        elif self._paused and not self._closing and pipe.pending_bytes <= self._high // 4:
            self._paused = False
            self._protocol().resume_writing()

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        link = self._link
        link.note_broker_gone()
        link.to_client.end(link.client_sees_close)
        link.timeline.after(0.0, self.look_at_buffer)

    def abort(self) -> None:
        self._closing = True
        self._link.note_broker_gone()
        if not self._lost:
            self._link.timeline.after(self._link.delay(), self._link.client_sees_end)
            self._lose()

    def end(self) -> None:
        """Close the transport, because the other end no longer exists."""
        self._closing = True
        self._link.note_broker_gone()
        self._lose()

    def _lose(self) -> None:
        if not self._lost and self._link.protocol is not None:
            self._lost = True
            self._link.timeline.after(0.0, self._lose_now)

    def _lose_now(self) -> None:
        if self._link.protocol is not None:
            protocol, self._link.protocol = self._link.protocol, None
            protocol.connection_lost(None)

    def _protocol(self) -> asyncio.Protocol:
        return cast(asyncio.Protocol, self._link.protocol)
