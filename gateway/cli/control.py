"""Asks the broker through its control socket: one JSON line out, one JSON line back.

The contract is docs/formats/control-socket.md. Whatever goes wrong is a CommandFailed that says
what to do; answers are bounded in size and time.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any

from gateway.cli.failures import EXIT_CONFIGURATION, EXIT_FAILED, CommandFailed, line_of
from gateway.server.unix_sockets import PATH_BYTES_MAX

# The contract's limit for a line in either direction.
LINE_BYTES_MAX = 1 << 20
# A commit on a slow card takes a second or two; beyond this the broker is stuck.
ANSWER_SECONDS_MAX = 10.0
CONFIGURATION_REFUSED = "failed"
"""The error code of a `reload` whose configuration or password file cannot be used."""


def ask(control_socket: Path, command: str, **arguments: object) -> dict[str, Any]:
    """The result of one command. Raises CommandFailed."""
    question = json.dumps({"command": command, **arguments}).encode() + b"\n"
    if len(question) > LINE_BYTES_MAX:
        raise CommandFailed(f"{command}: the question is longer than {LINE_BYTES_MAX} bytes")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_SECONDS_MAX)
        try:
            connection.connect(str(control_socket))
            connection.sendall(question)
            line = connection.makefile("rb").readline(LINE_BYTES_MAX + 1)
        except TimeoutError:
            wait = f"within {ANSWER_SECONDS_MAX:g} s"
            raise CommandFailed(f"the broker at {control_socket} did not answer {wait}") from None
        except OSError as error:
            raise CommandFailed(_mend_of(control_socket, error)) from None
    return _result_of(line, control_socket)


def _mend_of(control_socket: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"you may not ask the broker at {control_socket}: use sudo or join its group"
    if len(os.fsencode(control_socket)) > PATH_BYTES_MAX:
        return (
            f"{control_socket}: a socket's path has at most {PATH_BYTES_MAX} bytes; set [gateway] "
            "control_dir to a shorter one"
        )
    return (
        f"no broker answers at {control_socket} ({line_of(error)}): start it, "
        "or name its data directory with --data-dir, or its configuration with --config"
    )


def _result_of(line: bytes, control_socket: Path) -> dict[str, Any]:
    try:
        answer = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise CommandFailed(f"{control_socket} gave no answer of the control protocol")
    if answer.get("ok") is True and isinstance(answer.get("result"), dict):
        result: dict[str, Any] = answer["result"]
        return result
    error = answer.get("error")
    code, message = (
        (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
    )
    raise CommandFailed(
        line_of(message or "the broker refused without a reason"),
        exit_code=EXIT_CONFIGURATION if code == CONFIGURATION_REFUSED else EXIT_FAILED,
    )
