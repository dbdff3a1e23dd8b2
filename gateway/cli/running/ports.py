"""Checks that a TCP port is free. If it is in use, the error names the process that uses it."""

import errno
import socket

from api.serving.listening import holder_of
from gateway.cli.common.failures import CommandFailed
from gateway.process.files.disk_errors import line_of


def free_port(bind: str, port: int, *, what: str, fix: str) -> int:
    """Return `port` if it is free at the address `bind`. If `port` is 0, return any free port.

    `what` names the service, and `fix` describes how to choose another port. Both appear in the
    error message. Raises CommandFailed if the port cannot be used.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        # Connections of an earlier run may be in TIME_WAIT, which does not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen(1)
            return int(probe.getsockname()[1])
        except OSError as error:
            raise CommandFailed(_explanation(error, bind, port, what, fix)) from None


def _explanation(error: OSError, bind: str, port: int, what: str, fix: str) -> str:
    if error.errno == errno.EADDRINUSE:
        holder = holder_of(port) or "a process that cannot be seen from here"
        return f"port {port} on {bind}, wanted by {what}, is taken by {holder}; stop it, or {fix}"
    if error.errno == errno.EACCES:
        reason = "ports below 1024 need root or CAP_NET_BIND_SERVICE"
        return f"{what} may not listen on {bind} port {port}: {reason}; {fix}"
    return f"{what} cannot listen on {bind} port {port}: {line_of(error)}; {fix}"
