"""From the configured listeners to sockets that accept.

Every listener has an admission policy of its own. A Unix socket's file is made with mode 0660:
processes whose user is in its group may connect.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.access.certificates import TlsFiles
from gateway.configuration import Listener
from gateway.core.quota import NO_LIMIT
from gateway.core.sessions.connection import ConnectionShare
from gateway.core.token_bucket import TokenBucket
from gateway.server.event_loop.event_loop import EventLoop
from gateway.server.host.unix_sockets import closed_to_others, inode_of, remove_stale
from gateway.server.listeners.address_limits import (
    BURST_SECONDS,
    AddressLimits,
    AddressSettings,
)
from gateway.server.listeners.certificates import Certificates, CertificateWatch
from gateway.server.listeners.gate import Gate, Gatekeeping
from gateway.server.listeners.handshake import PATH
from gateway.server.listeners.handshake_turns import HandshakeTurns
from gateway.server.listeners.policy import AdmissionPolicy
from gateway.server.listeners.proxied import ProxiedProtocol
from gateway.server.listeners.stream import MqttProtocol
from gateway.server.listeners.tls import TlsLayer
from gateway.server.listeners.websocket import WebSocketProtocol

logger = logging.getLogger(__name__)

BACKLOG = 1_024
"""Connections the kernel holds while the loop is busy: a fleet that reconnects after a restart."""

SECURED = {"mqtt": "mqtts", "websocket": "wss"}
"""What the protocols are called with TLS below them."""

Factory = Callable[[], asyncio.Protocol]


class Listening:
    """The listeners that are open. `shown` is what the status shows of them."""

    def __init__(self, event_loop: EventLoop, settings: AddressSettings) -> None:
        self._event_loop = event_loop
        self.addresses = AddressLimits(event_loop.broker.statistics, settings)
        self.certificates = CertificateWatch()
        self._turns = HandshakeTurns()
        self._servers: list[asyncio.Server] = []
        self._files: list[tuple[Path, int]] = []
        self.shown: list[dict[str, Any]] = []

    async def open(self, listener: Listener) -> None:
        """Accept connections.

        Raises:
            OSError: that is not possible.
            CertificateError: the listener's certificate cannot be used.
        """
        certificates = None
        if listener.tls is not None:
            certificates = self.certificates.add(tls_files_of(listener))
        factory = factory_of(self._event_loop, listener, certificates, self._turns, self.addresses)
        if listener.protocol == "unix":
            assert listener.path is not None
            await self._open_unix(factory, listener.path)
        else:
            await self._open_network(factory, listener, certificates)

    async def _open_network(
        self, factory: Factory, listener: Listener, certificates: Certificates | None
    ) -> None:
        server = await asyncio.get_running_loop().create_server(
            factory, listener.bind, listener.port, backlog=BACKLOG
        )
        self._servers.append(server)
        for listening in server.sockets:
            bind, port = listening.getsockname()[:2]
            protocol = listener.protocol if certificates is None else SECURED[listener.protocol]
            shown: dict[str, Any] = {"protocol": protocol, "bind": bind, "port": port}
            if listener.protocol == "websocket":
                shown["path"] = PATH
            if certificates is not None:
                certificates.shown.append(shown)
            self.shown.append(shown)
            logger.info("listening for %s on %s port %d", protocol, bind, port)

    async def _open_unix(self, factory: Factory, path: Path) -> None:
        remove_stale(path)
        with closed_to_others():
            server = await asyncio.get_running_loop().create_unix_server(
                factory, path, backlog=BACKLOG
            )
        self._servers.append(server)
        self._files.append((path, inode_of(path)))
        self.shown.append({"protocol": "unix", "path": str(path)})
        logger.info("listening for mqtt on the Unix socket %s", path)

    def close(self) -> None:
        """Accept no connection any more, and remove our socket files."""
        self.certificates.stop()
        for server in self._servers:
            server.close()
        for path, inode in self._files:
            # Another broker may have put its own socket there since.
            with contextlib.suppress(FileNotFoundError):
                if inode_of(path) == inode:
                    path.unlink()


def name_of(listener: Listener) -> str:
    """Return what a listener is called: its address as it is configured."""
    if listener.path is not None:
        return str(listener.path)
    return f"{listener.bind}:{listener.port}"


def tls_files_of(listener: Listener) -> TlsFiles:
    """Return the files of a listener with TLS."""
    tls = listener.tls
    assert tls is not None
    return TlsFiles(
        certificate=tls.certificate,
        key=tls.key,
        ca=tls.ca,
        crl=tls.crl,
        client_certificates=tls.client_certificates,
        username=tls.username,
        min_version=tls.min_version,
        alpn="http/1.1" if listener.protocol == "websocket" else "mqtt",
    )


def factory_of(
    event_loop: EventLoop,
    listener: Listener,
    certificates: Certificates | None,
    turns: HandshakeTurns,
    addresses: AddressLimits,
) -> Factory:
    """Return what makes the protocol of each connection of a listener."""
    share = None
    rates = listener.max_packet_rate or 0, listener.max_byte_rate or 0
    if listener.max_connections is not None or any(rates):
        share = ConnectionShare(listener.max_connections or NO_LIMIT, *rates)
    policy = AdmissionPolicy(
        anonymous=listener.anonymous,
        share=share,
        origins=listener.origins,
        listener=name_of(listener),
        is_local=not listener.is_reached_from_network,
    )
    protocol = WebSocketProtocol if listener.protocol == "websocket" else MqttProtocol
    keeping = _gatekeeping_of(event_loop, listener, addresses)

    def make() -> tuple[MqttProtocol, asyncio.Protocol]:
        made = protocol(event_loop, policy)
        following: MqttProtocol | TlsLayer = made
        if certificates is not None:
            following = TlsLayer(made, certificates, turns)
        if not listener.proxy_protocol:
            return made, following
        takes_users = listener.proxy_protocol_certificates
        proxied = ProxiedProtocol(made, following, addresses, takes_users=takes_users)
        return made, proxied

    return lambda: Gate(keeping, make)


def _gatekeeping_of(
    event_loop: EventLoop, listener: Listener, addresses: AddressLimits
) -> Gatekeeping:
    bucket = None
    if listener.max_connection_rate is not None:
        rate = float(listener.max_connection_rate)
        bucket = TokenBucket(rate, rate * BURST_SECONDS, asyncio.get_running_loop().time())
    has_addresses = listener.protocol != "unix" and not listener.proxy_protocol
    return Gatekeeping(
        event_loop.broker.statistics,
        addresses if has_addresses else None,
        bucket,
        name_of(listener),
    )
