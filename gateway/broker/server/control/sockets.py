"""A Unix socket on which the broker answers requests. Each request is one line of JSON.

`control.sock` accepts every command. `status.sock` accepts only commands that read. `operate.sock`
accepts operators' actions from the status page. The mode and the group of a socket's file decide
who may connect. docs/formats/control-socket.md describes the protocol.
"""

import asyncio
import errno
import grp
import json
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.broker.server.control.operations import caller_at
from gateway.broker.server.host.unix_sockets import (
    PATH_BYTES_MAX,
    closed_to_others,
    inode_of,
    is_answered,
)
from gateway.process.control.messages import LINE_BYTES_MAX
from gateway.process.files.disk_errors import line_of

logger = logging.getLogger(__name__)

CONNECTIONS_MAX = 64
"""Maximum number of connections per socket. The gateway's own processes use one each. The status
page cannot use up the connections of the other sockets."""

DIRECTORY_MODE = 0o755
"""Mode of a directory that is created for the sockets. The modes of the sockets restrict access."""

Answer = Callable[[bytes, str], Awaitable[dict[str, Any]]]
"""A function that returns the answer to a line. Its second argument describes the local user who
sent the line."""


class ControlSocket:
    """A listening Unix socket on which the broker answers requests."""

    def __init__(self, path: Path, group: str | None, answer: Answer) -> None:
        self._path = path
        self._group = group
        self._answer = answer
        self._connections: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._inode: int | None = None

    async def start(self) -> None:
        """Open the socket. Replace the stale file of a broker that was killed.

        Raises:
            OSError: the socket cannot be opened. The message names the file, the cause and the fix.
        """
        try:
            await self._start()
        except OSError as error:
            raise OSError(error.errno, _message_of(error), str(self._path)) from error

    async def _start(self) -> None:
        if len(os.fsencode(self._path)) > PATH_BYTES_MAX:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        _make_directory(self._path.parent)
        if self._path.is_socket() and is_answered(self._path):
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._path.unlink(missing_ok=True)
        with closed_to_others():
            self._server = await asyncio.start_unix_server(
                self._serve, self._path, limit=LINE_BYTES_MAX
            )
        self._inode = inode_of(self._path)
        if self._group is not None:
            _give_to(self._group, self._path)

    async def stop(self) -> None:
        """Close the socket and all its connections."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._connections):
            writer.close()
        try:
            with suppress(FileNotFoundError):
                # Another broker may have replaced the file with its own socket.
                if self._inode is not None and inode_of(self._path) == self._inode:
                    self._path.unlink()
        except OSError as error:
            # The disk has become read-only. The next start replaces a stale socket.
            logger.warning("the control socket cannot be removed: %s", line_of(error))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            writer.close()
            return
        self._connections.add(writer)
        caller = caller_at(writer.get_extra_info("socket"))
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line, caller)).encode() + b"\n")
                await writer.drain()
        except ValueError:
            refusal = refusal_of("bad_request", f"a line of more than {LINE_BYTES_MAX} bytes")
            writer.write(json.dumps(refusal).encode() + b"\n")
        except (ConnectionError, asyncio.CancelledError):
            logger.debug("a control connection ended early")
        finally:
            self._connections.discard(writer)
            writer.close()


def refusal_of(code: str, message: str) -> dict[str, Any]:
    """Return the error response for a refused request."""
    return {"ok": False, "error": {"code": code, "message": message}}


def _make_directory(directory: Path) -> None:
    if directory.is_dir():
        return
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(DIRECTORY_MODE)


def _give_to(group: str, path: Path) -> None:
    try:
        os.chown(path, -1, grp.getgrnam(group).gr_gid)
    except KeyError:
        raise OSError(errno.EINVAL, f"create the group {group!r}, which does not exist") from None
    except PermissionError:
        reason = f"make the broker's user a member of the socket's group {group!r}"
        raise OSError(errno.EINVAL, reason) from None


def _message_of(error: OSError) -> str:
    """Return an error message for a socket that cannot be opened, with the cause and the fix."""
    match error.errno:
        case errno.ENAMETOOLONG:
            return (
                f"a socket's path has at most {PATH_BYTES_MAX} bytes; set [gateway] control_dir to "
                "a shorter one, such as /run/oncegate"
            )
        case errno.ENOSYS | errno.EOPNOTSUPP | errno.EPERM:
            return (
                f"{error.strerror}: this file system has no Unix sockets; set [gateway] "
                "control_dir to a directory on another one, such as /run/oncegate"
            )
        case errno.EADDRINUSE:
            return "another broker listens there; give each its own [gateway] control_dir"
        case errno.EINVAL:
            return f"{error.strerror}; or correct the group in [gateway]"
    return (
        f"{error.strerror or error}; the socket cannot be created there: check the directory, or "
        "set [gateway] control_dir to another one"
    )
