"""Settings for an address on which the broker listens: a table `[[listeners]]`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from gateway.configuration.addresses import BindAddress, Origin, SocketPath, is_loopback
from gateway.configuration.tls import Tls
from gateway.process.declarations.quantities import Items, Size, Text, Whole, refusal
from gateway.process.declarations.section import Section

WEBSOCKET_PORT, TLS_PORT, WEBSOCKET_TLS_PORT = 8083, 8883, 8084
LISTENER_NAME = Text(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", '1 to 64 letters, digits and . _ -, like "plant"'
)
WEBSOCKET_PATH = Text(r"/[!\"$-;=@-~]{0,199}", 'a path such as "/mqtt", without ? and #')
_DEFAULT_BIND, _DEFAULT_PORT = "127.0.0.1", 1883


@dataclass(frozen=True, kw_only=True)
class Listener(Section):
    """An address on which the broker listens, with the settings for its connections."""

    name: Annotated[str, LISTENER_NAME] | None = None
    bind: Annotated[str, BindAddress()] = _DEFAULT_BIND
    port: Annotated[int, Whole(0, 65535)] = _DEFAULT_PORT
    protocol: Literal["mqtt", "websocket", "unix"] = "mqtt"
    anonymous: bool = True
    allow_anonymous_network: bool = False
    path: Annotated[Path, SocketPath()] | None = None
    websocket_path: Annotated[str, WEBSOCKET_PATH] | None = None
    origins: Annotated[tuple[Annotated[str, Origin()], ...], Items()] = ()
    proxy_protocol: bool = False
    proxy_protocol_certificates: bool = False
    tls: Tls | None = None
    max_connections: Annotated[int, Whole(1, 1_000_000)] | None = None
    max_connection_rate: Annotated[int, Whole(1, 1_000_000)] | None = None
    max_packet_rate: Annotated[int, Whole(1, 1_000_000)] | None = None
    max_byte_rate: Annotated[int, Size(128, 1 << 40)] | None = None
    sessions: Annotated[int, Whole(1, 100_000_000)] | None = None
    login_rate: Annotated[int, Whole(1, 1_000_000)] | None = None
    packet_rate: Annotated[int, Whole(1, 10_000_000)] | None = None
    byte_rate: Annotated[int, Size(128, 1 << 40)] | None = None

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        has_tls = written.get("tls") is not None
        if written.get("protocol") == "websocket":
            return {"port": WEBSOCKET_TLS_PORT if has_tls else WEBSOCKET_PORT, **written}
        if has_tls and written.get("protocol", "mqtt") == "mqtt":
            return {"port": TLS_PORT, **written}
        return written

    def check(self) -> None:
        if self.origins and self.protocol != "websocket":
            raise refusal('no origins: they belong to protocol = "websocket"')
        if self.websocket_path is not None and self.protocol != "websocket":
            raise refusal('no websocket_path: it belongs to protocol = "websocket"')
        if self.protocol == "unix":
            if self.path is None:
                raise refusal('path, the location of the socket, with protocol = "unix"')
            if self.tls is not None:
                raise refusal('no tls with protocol = "unix": its bytes do not leave this machine')
            if (self.bind, self.port) != (_DEFAULT_BIND, _DEFAULT_PORT):
                raise refusal('path without bind and port with protocol = "unix"')
        elif self.path is not None:
            raise refusal(
                'no path: it belongs to protocol = "unix"; the path of a URL is websocket_path'
            )
        if self.proxy_protocol_certificates and (not self.proxy_protocol or self.tls is not None):
            raise refusal(
                "proxy_protocol_certificates with proxy_protocol = true and without tls: it is for "
                "a proxy that terminates TLS"
            )
        if self.is_open_to_network and not self.allow_anonymous_network:
            raise refusal(
                "anonymous = false with [access] password_file, or tls with client_certificates = "
                '"required", because '
                f"{self._who_reaches_it}; allow_anonymous_network = true opens it to everyone"
            )

    @property
    def is_reached_from_network(self) -> bool:
        """True if clients on other machines can connect, directly or through a local proxy."""
        return self.proxy_protocol or (self.path is None and not is_loopback(self.bind))

    @property
    def is_open_to_network(self) -> bool:
        """True if clients on other machines can connect without authentication."""
        return self.anonymous and not self.demands_users and self.is_reached_from_network

    @property
    def proves_users(self) -> bool:
        """True if a client certificate can authenticate a user."""
        return self.proxy_protocol_certificates or (self.tls is not None and self.tls.proves_users)

    @property
    def demands_users(self) -> bool:
        """True if every client must use a certificate to authenticate as a user."""
        return self.tls is not None and self.tls.demands_users

    @property
    def _who_reaches_it(self) -> str:
        if self.proxy_protocol:
            return "proxy_protocol = true is for clients on the network, behind a proxy"
        return f"{self.bind} can be reached from the network"

    @property
    def called(self) -> str:
        """The listener's name in access rules, logs and queries.

        This is the key `name`, or the configured address if `name` is not set.
        """
        if self.name is not None:
            return self.name
        return str(self.path) if self.path is not None else f"{self.bind}:{self.port}"

    @property
    def place(self) -> str:
        """The listener's address for messages: the path of its socket, or its host and port."""
        return str(self.path) if self.path is not None else f"{self.bind} port {self.port}"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port at which local clients can reach a TCP listener."""
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
        return everywhere.get(self.bind, self.bind), self.port

    @property
    def is_plain(self) -> bool:
        """True if the listener accepts plain MQTT over TCP, without TLS, PROXY or WebSocket."""
        return self.protocol == "mqtt" and not self.proxy_protocol and self.tls is None


def paired(
    before: Sequence[Listener], after: Sequence[Listener]
) -> list[tuple[Listener | None, Listener | None]]:
    """Match the listeners in `after` with the listeners in `before` at the same address.

    Return pairs of a listener before and after the change, in the order of `after`. The first item
    is None for an added listener. Pairs for removed listeners come last, with None as the second
    item. Several listeners with port 0 at the same address are matched by name if possible,
    otherwise by order.
    """
    left = list(before)
    pairs: list[tuple[Listener | None, Listener | None]] = []
    for listener in after:
        same_place = [each for each in left if each.place == listener.place]
        named_alike = [each for each in same_place if each.name == listener.name]
        found = next(iter([*named_alike, *same_place]), None)
        if found is not None:
            left = [each for each in left if each is not found]
        pairs.append((found, listener))
    return [*pairs, *((each, None) for each in left)]


def ends_connections(before: Listener, after: Listener) -> bool:
    """Return True if a listener's changed settings require closing its connections."""
    first, second = before.tls, after.tls
    if first is not None and second is not None:
        ways = [(each.client_certificates, each.username) for each in (first, second)]
        tls_differs = ways[0] != ways[1]
    else:
        tls_differs = first is not second
    return (
        tls_differs
        or any(
            getattr(before, key) != getattr(after, key)
            for key in ("name", "protocol", "proxy_protocol", "proxy_protocol_certificates")
        )
        or (before.anonymous and not after.anonymous)
    )
