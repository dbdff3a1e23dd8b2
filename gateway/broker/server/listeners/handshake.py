"""The opening handshake of MQTT over WebSocket (RFC 6455 section 4.2, MQTT 5.0 section 6).

A request is rejected if it is not a WebSocket handshake, if its path or its subprotocol is wrong,
or if it comes from a web page whose origin is not allowed. The origin must be checked because a
browser lets a page of any website connect to this machine. Only the header `Origin` shows from
which website the page was loaded.
"""

import ipaddress
import socket
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from wsproto.connection import ConnectionType
from wsproto.events import AcceptConnection, RejectConnection, RejectData, Request
from wsproto.handshake import H11Handshake
from wsproto.utilities import RemoteProtocolError

from gateway.broker.server.listeners.policy import WEBSOCKET_PATHS

SUBPROTOCOL: Final = "mqtt"
SUBPROTOCOLS: Final = (SUBPROTOCOL, "mqttv3.1")
"""The subprotocol name of the standards, and the name that MQTT 3.1 clients offer."""

ANY_ORIGIN: Final = "*"

REQUEST_BYTES_MAX: Final = 16_384
"""Maximum length of a request. A browser's request has about 1 KiB, plus cookies that other
programs on this host have set."""


HOST_LINE_BYTES_MAX: Final = 300
"""Maximum length of the Host header: 253 bytes for a name, a port, and the header's name. The
library applies the rules for international names, which takes 43 ms for 16 kB."""

HEADERS_MAX: Final = 100
"""Maximum number of lines in a request. A browser sends some 20. Parsing 3,700 takes 60 ms."""


_CONNECT: Final = 0x10
_TLS_HANDSHAKE: Final = 0x16
_FIRST_OF_REQUEST: Final = frozenset(range(0x21, 0x7F)) | frozenset(b"\r\n")
"""Bytes that a request may begin with: the method, or an empty line (RFC 9112 section 2.2)."""

_VERSION_NEEDED: Final = 426
"""HTTP status for a WebSocket version other than 13 (RFC 6455 section 4.4)."""


class Answer:
    """The response to a handshake request, and the bytes that were received after the request."""

    def __init__(self, response: bytes, refusal: str | None, detail: str, rest: bytes) -> None:
        self.response = response
        self.refusal = refusal
        """Reason name for a refusal, used by counters, or None if the request was accepted."""
        self.detail = detail
        self.rest = rest


class Handshake:
    """The opening handshake of one WebSocket connection."""

    def __init__(self, origins: tuple[str, ...], paths: tuple[str, ...] = WEBSOCKET_PATHS) -> None:
        self._origins = origins
        self._paths = paths
        self._received = bytearray()
        self._server = H11Handshake(ConnectionType.SERVER)

    def receive(self, data: bytes) -> Answer | None:
        """Process received bytes. Return the response once the request is complete or invalid.

        Return None if the request is not complete yet.
        """
        received = self._received
        searched_bytes = max(0, len(received) - 3)
        received += data
        if received and received[0] not in _FIRST_OF_REQUEST:
            return self._refuse(400, _no_request(received[0]))
        end = received.find(b"\r\n\r\n", searched_bytes)
        length = len(received) if end < 0 else end + 4
        if length > REQUEST_BYTES_MAX:
            return self._refuse(431, f"The request has more than {REQUEST_BYTES_MAX} bytes.")
        if end < 0:
            return None
        return self._answer(bytes(received[:length]), bytes(received[length:]))

    def _answer(self, head: bytes, rest: bytes) -> Answer:
        refusal = _refusal_of(head)
        if refusal is not None:
            return self._refuse(*refusal)
        try:
            self._server.receive_data(head)
            request = next(self._server.events(), None)
        except RemoteProtocolError as error:
            hint = error.event_hint
            status = hint.status_code if isinstance(hint, RejectConnection) else 400
            headers = list(hint.headers) if isinstance(hint, RejectConnection) else []
            if status == _VERSION_NEEDED:
                detail = "Only version 13 of WebSocket is supported: send Sec-WebSocket-Version: 13"
            else:
                detail = f"No WebSocket handshake: {error}"
            return self._refuse(status, f"{detail}.", headers)
        except UnicodeError:
            return self._refuse(400, "A header is not ASCII.")
        if not isinstance(request, Request):
            return self._refuse(400, "No WebSocket handshake: no request.")
        subprotocol = next((each for each in SUBPROTOCOLS if each in request.subprotocols), None)
        return self._judge(request) or Answer(
            # [MQTT-6.0.0-4] the selected subprotocol is named
            self._server.send(AcceptConnection(subprotocol=subprotocol)),
            None,
            "",
            rest,
        )

    def _judge(self, request: Request) -> Answer | None:
        path = request.target.partition("?")[0]
        if path not in self._paths and path.removesuffix("/") not in self._paths:
            return self._refuse(404, f"MQTT over WebSocket is at {' or '.join(self._paths)}.")
        if not set(SUBPROTOCOLS) & set(request.subprotocols):
            # [MQTT-6.0.0-3]
            return self._refuse(400, f"The subprotocol {SUBPROTOCOL!r} has to be offered.")
        stated = [value for name, value in request.extra_headers if name == b"origin"]
        if len(stated) > 1:
            return self._refuse(400, "There is more than one Origin.")
        if stated and not is_allowed_origin(
            stated[0].decode("latin-1"), request.host, self._origins
        ):
            return self._refuse(
                403,
                f"Pages of {stated[0][:200].decode('latin-1')!r} may not connect: "
                "add the origin to 'origins' of this listener.",
                refusal="websocket_origin",
            )
        return None

    def _refuse(
        self,
        status: int,
        detail: str,
        headers: Iterable[tuple[bytes, bytes]] = (),
        refusal: str = "websocket_handshake",
    ) -> Answer:
        body = detail.encode() + b"\n"
        response = self._server.send(
            RejectConnection(
                status_code=status,
                headers=[
                    *headers,
                    (b"Content-Type", b"text/plain; charset=utf-8"),
                    (b"Content-Length", str(len(body)).encode()),
                    (b"Connection", b"close"),
                ],
                has_body=True,
            )
        )
        return Answer(response + self._server.send(RejectData(data=body)), refusal, detail, b"")


def _no_request(first: int) -> str:
    """Return an error message for a connection whose first bytes are not an HTTP request.

    `first` is the first byte. The message states what was received and how to fix the problem.
    """
    if first == _CONNECT:
        what, fix = "MQTT", "use the listener for MQTT, or turn WebSocket on in the client"
    elif first == _TLS_HANDSHAKE:
        what, fix = "TLS", "use the listener for TLS, or turn TLS off in the client"
    else:
        what, fix = f"0x{first:02X}", "expected an HTTP request"
    return f"This port speaks WebSocket, and the connection begins with {what}: {fix}."


def _refusal_of(request: bytes) -> tuple[int, str] | None:
    """Return the HTTP status and reason for refusing a request that would take long to parse.

    Return None if the request can be parsed quickly.
    """
    lines = request.split(b"\n")
    if len(lines) > HEADERS_MAX:
        return 431, f"The request has more than {HEADERS_MAX} lines."
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            return 400, "A header continues on the next line."  # RFC 9112 section 5.2
        if line[:5].lower() == b"host:" and len(line) > HOST_LINE_BYTES_MAX:
            return 400, "The Host is longer than any name."
    return None


def is_allowed_origin(origin: str, host: str, origins: tuple[str, ...]) -> bool:
    """Return True if a web page from `origin` is allowed to connect to `host`.

    An origin in `origins` is always allowed. Any other origin is allowed only if its host is the
    host of the request (the ports can differ) and is an IP address or this machine's name. All
    loopback names and addresses are equivalent. Other host names are not trusted, because their
    owners can make them resolve to this machine after the page has been loaded.
    """
    if ANY_ORIGIN in origins or origin.lower() in origins:
        return True
    try:
        page_host, our_host = urlsplit(origin).hostname, urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if page_host is None or our_host is None:
        return False
    if _is_loopback(page_host) and _is_loopback(our_host):
        return True
    return page_host == our_host and _is_this_machine(page_host)


def _is_loopback(name: str) -> bool:
    address = _address_of(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def _is_this_machine(name: str) -> bool:
    own_name = socket.gethostname().lower()
    return name in (own_name, f"{own_name}.local") or _address_of(name) is not None


def _address_of(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
