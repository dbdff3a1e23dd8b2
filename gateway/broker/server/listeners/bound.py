"""Binds listening sockets before they accept connections.

A reload binds new sockets before it changes anything. Until the changes are applied, the kernel
queues connections to the new sockets.
"""

import contextlib
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gateway.broker.server.host.unix_sockets import closed_to_others, inode_of, remove_stale
from gateway.configuration import Listener

BACKLOG = 1_024
"""Maximum number of connections that the kernel queues while the event loop is busy, for example
when all devices reconnect after a restart."""


@dataclass(frozen=True)
class Bound:
    """The bound sockets of one listener. There are several if `localhost` has several addresses."""

    sockets: tuple[socket.socket, ...]
    file: tuple[Path, int] | None = None
    """Path and inode of a Unix socket's file, or None for network sockets."""

    def remove_file(self) -> None:
        """Remove the file of a Unix socket, unless another process has replaced the file."""
        if self.file is not None:
            path, inode = self.file
            with contextlib.suppress(FileNotFoundError):
                if inode_of(path) == inode:
                    path.unlink()

    def close(self) -> None:
        """Close the sockets and remove the file of a Unix socket."""
        self.remove_file()
        for each in self.sockets:
            each.close()

    def share_port(self, *, shared: bool) -> None:
        """Allow other sockets of this user to bind to the same port, or forbid it (SO_REUSEPORT).

        The argument `shared` is True to allow it.
        """
        for each in self.sockets:
            if each.family != socket.AF_UNIX:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)


def bind(listener: Listener, given_up: Iterable[Bound] = ()) -> Bound:
    """Bind a listener's sockets to the configured address, and start listening.

    Args:
        listener: the configured listener.
        given_up: old sockets that will be closed if the reload succeeds. A new socket may use the
            same port as one of them, for example if `0.0.0.0` replaces `127.0.0.1`.

    Raises:
        OSError: the address cannot be used. All new sockets are closed again.
    """
    if listener.path is not None:
        return _bind_unix(listener.path)
    try:
        return _bind_network(listener, shared=False)
    except OSError as error:
        same_port = [each for each in given_up if _has_port(each, listener.port)]
        if not same_port:
            raise
        try:
            for each in same_port:
                each.share_port(shared=True)
            return _bind_network(listener, shared=True)
        except OSError:
            raise error from None
        finally:
            for each in same_port:
                each.share_port(shared=False)


def _has_port(bound: Bound, port: int) -> bool:
    return any(
        each.family != socket.AF_UNIX and each.getsockname()[1] == port for each in bound.sockets
    )


def _bind_unix(path: Path) -> Bound:
    remove_stale(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with closed_to_others():
            listening.bind(str(path))
        listening.listen(BACKLOG)
        listening.setblocking(False)
        return Bound((listening,), (path, inode_of(path)))
    except OSError:
        listening.close()
        raise


def _bind_network(listener: Listener, *, shared: bool) -> Bound:
    places = socket.getaddrinfo(
        listener.bind, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    made: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(places):
            listening = socket.socket(family, kind, protocol)
            made.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
            if shared:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, True)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, True)
            listening.bind(address)
            listening.listen(BACKLOG)
            listening.setblocking(False)
    except OSError as error:
        for each in made:
            each.close()
        where = f"{listener.bind} port {listener.port}"
        raise OSError(error.errno, f"cannot listen: {error.strerror}", where) from error
    bound = Bound(tuple(made))
    bound.share_port(shared=False)
    return bound
