"""A uvicorn server that limits the time and memory of each connection.

It does not install signal handlers. A connection is closed if the client does not send the headers
of a request within ``HEAD_SECONDS_MAX``, or does not read the response within
``CONNECTION_SECONDS_MAX``. At most ``REQUEST_HEAD_BYTES_MAX`` bytes of a request's headers are
buffered per connection. Uvicorn itself does not have these limits. If there are too many
connections, the module ``visitors`` decides which connection is closed.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api import limits
from api.connections.certificate import ServedCertificate
from api.connections.tls import TlsConnection
from api.connections.visitors import Visitors

_NO_PLACE: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Retry-After: %d\r\n"
    b"Content-Length: 38\r\n"
    b"Connection: close\r\n\r\n"
    b"Too many requests are being answered.\n" % limits.RETRY_AFTER_SECONDS
)


class Server(uvicorn.Server):
    """A uvicorn server that stops when its caller sets the event ``stop``."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        stop: asyncio.Event,
        on_started: Callable[[], None],
        on_second: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self._stop = stop
        self._on_started = on_started
        self._on_second = on_second

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    async def main_loop(self) -> None:
        # Uvicorn checks ten times a second whether to stop. Here an event stops the server. A tick
        # is needed only for the Date header, which uvicorn updates at ticks 0, 10, 20 and so on.
        while not self._stop.is_set() and not await self.on_tick(0):
            if self._on_second is not None:
                self._on_second()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), timeout=1.0)


class BoundedConnection(HttpToolsProtocol):
    """A visitor's HTTP connection, with limits on time and memory."""

    _ending: asyncio.TimerHandle
    _head_deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def __init__(self, *arguments: Any, visitors: Visitors, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._visitors = visitors

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ending = self.loop.call_later(limits.CONNECTION_SECONDS_MAX, self._shut_down)
        self._await_head()
        host = self.client[0] if self.client is not None else ""
        if not self._visitors.admit(self, host, self.loop.time()):
            transport.write(_NO_PLACE)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._visitors.left(self)
        self._ending.cancel()
        self._head_received()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > limits.REQUEST_HEAD_BYTES_MAX:
                self.send_400_response("The request's line and headers are too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._head_received()
        super().on_headers_complete()
        self._visitors.request_received(self, self.loop.time())

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self._visitors.requests_answered(self, self.loop.time())
        super().on_response_complete()

    def close_to_make_room(self) -> None:
        """Close the connection to make room for another visitor."""
        self.transport.abort()

    def _await_head(self) -> None:
        if self._head_deadline is None:
            self._head_deadline = self.loop.call_later(
                limits.HEAD_SECONDS_MAX, self.close_to_make_room
            )

    def _head_received(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None

    def _shut_down(self) -> None:
        self.shutdown()
        self._ending = self.loop.call_later(limits.FAREWELL_SECONDS, self.transport.abort)


def bounded_by(
    visitors: Visitors, certificate: ServedCertificate | None = None
) -> type[asyncio.Protocol]:
    """Return a protocol factory for uvicorn's setting `http`.

    Uvicorn calls the factory once for each connection. `visitors` limits the number of connections.
    If `certificate` is given, the connections use TLS.
    """

    def connection(**named: Any) -> asyncio.Protocol:
        http = BoundedConnection(visitors=visitors, **named)
        return http if certificate is None else TlsConnection(http, certificate)

    return cast("type[asyncio.Protocol]", connection)
