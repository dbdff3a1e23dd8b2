"""Client of the broker's control socket: one JSON line per request and per answer.

The protocol is described in docs/formats/control-socket.md. Every failure is a CommandFailed with
the fix. Answers are limited in size and time.
"""

import os
from pathlib import Path
from typing import Any

from gateway.broker.server.host.unix_sockets import PATH_BYTES_MAX
from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_FAILED, CommandFailed
from gateway.process.control import client as control
from gateway.process.control.messages import Refused, UnusableAnswer
from gateway.process.files.disk_errors import line_of

# A commit on a slow card takes a second or two; after this time the broker hangs.
ANSWER_SECONDS_MAX = 10.0
CONFIGURATION_REFUSED = "failed"
"""The error code of a `reload` whose configuration or password file cannot be used."""


def ask(control_socket: Path, command: str, **arguments: object) -> dict[str, Any]:
    """Send one command and return its result. Raises CommandFailed."""
    try:
        return control.ask(control_socket, ANSWER_SECONDS_MAX, {"command": command, **arguments})
    except Refused as refusal:
        is_configuration = refusal.code == CONFIGURATION_REFUSED
        raise CommandFailed(
            line_of(refusal.message),
            exit_code=EXIT_CONFIGURATION if is_configuration else EXIT_FAILED,
        ) from None
    except UnusableAnswer:
        raise CommandFailed(f"{control_socket} gave no answer of the control protocol") from None
    except TimeoutError:
        wait = f"within {ANSWER_SECONDS_MAX:g} s"
        raise CommandFailed(f"the broker at {control_socket} did not answer {wait}") from None
    except OSError as error:
        raise CommandFailed(_mend_of(control_socket, error)) from None
    except ValueError as error:
        raise CommandFailed(line_of(error)) from None


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
