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

from gateway.configuration import Listener
from gateway.core.sessions.connection import ConnectionShare
from gateway.server.event_loop.event_loop import EventLoop
from gateway.server.host.unix_sockets import closed_to_others, inode_of, remove_stale
from gateway.server.listeners.handshake import PATH
from gateway.server.listeners.policy import AdmissionPolicy
from gateway.server.listeners.proxied import ProxiedProtocol
from gateway.server.listeners.stream import MqttProtocol
from gateway.server.listeners.websocket import WebSocketProtocol

logger = logging.getLogger(__name__)

BACKLOG = 1_024
"""Connections the kernel holds while the loop is busy: a fleet that reconnects after a restart."""

Factory = Callable[[], asyncio.Protocol]


class Listening:
    """The listeners that are open. `shown` is what the status shows of them."""

    def __init__(self, event_loop: EventLoop) -> None:
        self._event_loop = event_loop
        self._servers: list[asyncio.Server] = []
        self._files: list[tuple[Path, int]] = []
        self.shown: list[dict[str, Any]] = []

    async def open(self, listener: Listener) -> None:
        """Accept connections. Raises OSError where that is not possible."""
        factory = factory_of(self._event_loop, listener)
        if listener.protocol == "unix":
            assert listener.path is not None
            await self._open_unix(factory, listener.path)
        else:
            await self._open_network(factory, listener)

    async def _open_network(self, factory: Factory, listener: Listener) -> None:
        server = await asyncio.get_running_loop().create_server(
            factory, listener.bind, listener.port, backlog=BACKLOG
        )
        self._servers.append(server)
        for listening in server.sockets:
            bind, port = listening.getsockname()[:2]
            shown = {"protocol": listener.protocol, "bind": bind, "port": port}
            if listener.protocol == "websocket":
                shown["path"] = PATH
            self.shown.append(shown)
            logger.info("listening for %s on %s port %d", listener.protocol, bind, port)

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


def factory_of(event_loop: EventLoop, listener: Listener) -> Factory:
    """Return what makes the protocol of each connection of a listener."""
    share = None
    if listener.max_connections is not None:
        share = ConnectionShare(listener.max_connections)
    policy = AdmissionPolicy(
        anonymous=listener.anonymous,
        share=share,
        origins=listener.origins,
        listener=name_of(listener),
    )
    protocol = WebSocketProtocol if listener.protocol == "websocket" else MqttProtocol
    if listener.proxy_protocol:
        return lambda: ProxiedProtocol(protocol(event_loop, policy))
    return lambda: protocol(event_loop, policy)
