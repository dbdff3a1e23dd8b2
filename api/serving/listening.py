"""Creates the TCP socket on which the API listens.

If this fails, ``CannotListen`` is raised. Its message is one line. It contains the address, the
process that already uses the address (if ``/proc`` shows it), and the setting to change.
"""

import errno
import pwd
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from api.settings import ApiSettings
from gateway.process.files.disk_errors import line_of

_PORT_OPTION: Final = "Choose another with `[api] port`, `--port` or ONCEGATE_API_PORT."
_BIND_OPTION: Final = "Choose another with `[api] bind` or ONCEGATE_API_BIND."

# include/net/tcp_states.h
_TCP_LISTEN: Final = "0A"

# A command line is hostile text of up to 2 MiB; this much identifies the program.
_COMMAND_CHARACTERS_MAX: Final = 80

# Connections that may wait to be accepted: more than a burst of half-sent requests while the loop
# renders a page. If the queue overflows, the kernel makes an honest visitor wait for a second.
_BACKLOG: Final = 512


class CannotListen(OSError):
    """Error that is raised if the API cannot listen at the configured address.

    The message is one line and includes the fix.
    """


class PortTaken(CannotListen):
    """Error that is raised if another process already listens at the configured address."""


@dataclass(frozen=True)
class _Listener:
    inode: str
    user_id: int


def listen(settings: ApiSettings) -> socket.socket:
    """Return a socket that listens at the configured address.

    Raises CannotListen if binding fails.
    """
    where = f"{settings.bind}:{settings.port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.bind, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise CannotListen(
            f"The API cannot listen on {where}: {settings.bind!r} is no address of a machine "
            f"({line_of(error)}). {_BIND_OPTION}"
        ) from error
    listener = socket.socket(family, kind, protocol)
    try:
        # A restart must not wait for the connections of the last run to leave TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _explained(error, settings, where) from error
    return listener


def url_of(listener: socket.socket, *, is_secure: bool = False) -> str:
    """Return the listener's address as a URL for a browser."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if is_secure else "http"
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"


def _explained(error: OSError, settings: ApiSettings, where: str) -> CannotListen:
    match error.errno:
        case errno.EADDRINUSE:
            holder = holder_of(settings.port)
            return PortTaken(
                f"The API's port {settings.port} on {settings.bind} is taken"
                f"{f' by {holder}' if holder else ''}. {_PORT_OPTION}",
            )
        case errno.EACCES:
            return CannotListen(
                f"The API may not listen on {where}: ports under 1024 need CAP_NET_BIND_SERVICE. "
                f"{_PORT_OPTION}",
            )
        case errno.EADDRNOTAVAIL:
            return CannotListen(
                f"The API cannot listen on {where}: this machine has no such address. "
                f"{_BIND_OPTION}",
            )
        case _:
            return CannotListen(
                f"The API cannot listen on {where}: {error.strerror}. {_BIND_OPTION}"
            )


def holder_of(port: int, proc: Path = Path("/proc")) -> str | None:
    """Return a description of the process that listens on a TCP port, or None if none is found.

    The description has the form ``process 812 (python -m http.server)``. If the API has no
    permission to read details of the process, the description contains only the name of the user
    who runs it. `proc` is the directory of the kernel's process file system.
    """
    listeners = list(_listeners_on(port, proc))
    for process in sorted(proc.glob("[0-9]*"), key=lambda path: int(path.name)):
        if any(_holds(process, listener.inode) for listener in listeners):
            return f"process {process.name} ({_command_of(process) or 'its command is hidden'})"
    for listener in listeners:
        return f"a process of user {_user_name_of(listener.user_id)}"
    return None


def _listeners_on(port: int, proc: Path) -> Iterator[_Listener]:
    """Yield the sockets that listen on a TCP port, from /proc/net/tcp and tcp6.

    A line has the fields ``sl local_address rem_address st ... uid timeout inode ...``.
    """
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text("ascii").splitlines()[1:]
        except (OSError, UnicodeError):
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _TCP_LISTEN:
                _, _, local_port = fields[1].partition(":")
                if int(local_port, 16) == port:
                    yield _Listener(inode=fields[9], user_id=int(fields[7]))


def _holds(process: Path, inode: str) -> bool:
    try:
        return any(
            str(descriptor.readlink()) == f"socket:[{inode}]"
            for descriptor in (process / "fd").iterdir()
        )
    except OSError:  # another user's process, or one that has just ended
        return False


def _command_of(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
    except OSError:
        return ""
    text = words.decode(errors="replace")
    command = "".join(character if character.isprintable() else "?" for character in text)
    if len(command) > _COMMAND_CHARACTERS_MAX:
        return command[:_COMMAND_CHARACTERS_MAX] + "…"
    return command


def _user_name_of(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return str(user_id)
