"""Client of the broker's control socket. Each request and each response is one line of JSON.

The protocol is described in docs/formats/control-socket.md. Every failure raises CommandFailed with
a message that contains the fix. The client limits the size of a response and the time that it waits
for the response.
"""

import os
from pathlib import Path
from typing import Any

from gateway.broker.server.host.unix_sockets import PATH_BYTES_MAX
from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_FAILED, CommandFailed
from gateway.process.control import client as control
from gateway.process.control.messages import Refused, UnusableAnswer
from gateway.process.files.disk_errors import line_of

# A commit on a slow card takes a second or two. A broker that takes ten seconds must have hung.
ANSWER_SECONDS_MAX = 10.0
CONFIGURATION_REFUSED = "failed"
"""Error code of a `reload` if the new configuration or a password file cannot be used."""


def ask(control_socket: Path, command: str, **arguments: object) -> dict[str, Any]:
    """Send one command to the broker and return its result.

    Raises CommandFailed if the broker does not respond or refuses the command.
    """
    try:
        return control.ask(control_socket, ANSWER_SECONDS_MAX, {"command": command, **arguments})
    except Refused as refusal:
        is_configuration = refusal.code == CONFIGURATION_REFUSED
        raise CommandFailed(
            line_of(refusal.message),
            exit_code=EXIT_CONFIGURATION if is_configuration else EXIT_FAILED,
        ) from None
    except UnusableAnswer:
        raise CommandFailed(
            f"{control_socket} did not answer as the control protocol requires"
        ) from None
    except TimeoutError:
        wait = f"within {ANSWER_SECONDS_MAX:g} s"
        raise CommandFailed(f"the broker at {control_socket} did not answer {wait}") from None
    except OSError as error:
        raise CommandFailed(_fix_of(control_socket, error)) from None
    except ValueError as error:
        raise CommandFailed(line_of(error)) from None


def _fix_of(control_socket: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"you have no access to {control_socket}: use sudo or join its group"
    if len(os.fsencode(control_socket)) > PATH_BYTES_MAX:
        return (
            f"{control_socket}: a socket's path has at most {PATH_BYTES_MAX} bytes; set [gateway] "
            "control_dir to a shorter one"
        )
    return (
        f"no broker answers at {control_socket} ({line_of(error)}): start it, "
        "or name its data directory with --data-dir, or its configuration with --config"
    )
