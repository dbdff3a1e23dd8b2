"""Records operators' actions in the session log, with the operator and the result.

These events explain, for example, why a client was disconnected. All actions reserved for operators
are recorded, no matter which socket received the request. Commands that only read are not recorded.
"""

import json
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.broker.core.token_bucket import TokenBucket
from gateway.broker.server.control import card_requests, sensors
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.control.user_changes import SECRETS

RECORDED: Final = frozenset(
    {"kick", "drop", "ban", "lift_ban", "reload", "operated", "acknowledge_alarm"}
    | {"publish", "clear_retained", "set_password", "remove_user", "restart", "reboot"}
    | {"add_token", "remove_token", "backup_downloaded"}
    | card_requests.COMMANDS
    | ({*sensors.COMMANDS} - sensors.READING)
)
"""Commands that are recorded as events."""

REPORTED: Final = frozenset({"api_token_added", "api_token_removed"})
"""Changes that command-line programs make to files which the broker does not read. The programs
report the changes with the command `operated`."""

REFUSED_PER_SECOND, REFUSED_BURST = 1.0, 20.0
"""Rate limit for recording refused requests, so that a compromised status page cannot fill the
session log."""

SHOWN_CHARACTERS_MAX: Final = 200
"""Maximum number of characters of a value in a log line or event."""

ARGUMENTS_SHOWN_MAX: Final = 12
"""Maximum number of an action's arguments in a log line or event."""

_CALLER_KEYS: Final = frozenset({"command", "action", "by", "program", "role", "from"})
_HIDDEN: Final = _CALLER_KEYS | SECRETS | card_requests.SECRETS
_CREDENTIALS: Final = struct.Struct("3i")


class Operations:
    """Recorder of operators' actions. It adds an event to the session log for each action."""

    def __init__(self, observe: Callable[[str, str], None], now: Callable[[], float]) -> None:
        """Set the callbacks.

        `observe` records an event, given an action and its details. `now` returns monotonic time in
        seconds.
        """
        self._observe = observe
        self._now = now
        self._refused = TokenBucket(REFUSED_PER_SECOND, REFUSED_BURST, now())

    def note(self, request: Mapping[str, Any], answer: Mapping[str, Any], who: str) -> None:
        """Record an event for an answered request if it was an operator's action.

        `who` describes the caller. The number of events for failed requests is limited.
        """
        command = request.get("command")
        if command not in RECORDED or (
            answer["ok"] is not True and not self._refused.take(self._now())
        ):
            return
        action = str(request.get("action")) if command == "operated" else str(command)
        arguments = arguments_of(request)
        detail = f"{who}: {arguments or 'no arguments'}: {outcome_of(answer)}"
        self._observe(action, detail)

    def note_signal(self, problem: str | None) -> None:
        """Record a reload by SIGHUP.

        `problem` is the error message, or None if the reload succeeded.
        """
        outcome = "done" if problem is None else f"failed: {shown(problem)}"
        self._observe("reload", f"SIGHUP: no arguments: {outcome}")


def reported(request: Mapping[str, Any]) -> dict[str, Any]:
    """Validate a report that an operator has performed an action on the command line.

    The caller then records an event about the action.

    Raises:
        Refused: the report has no name, or its action is not one of `REPORTED`.
    """
    if request.get("action") not in REPORTED:
        raise Refused("bad_request", f"'action' has to be one of {sorted(REPORTED)}")
    text_of(request, "name")
    return {}


def backup_downloaded(request: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the status page's report that it is about to send a backup to an administrator.

    The caller then records an event. The page sends the backup only after the answer.

    Raises:
        Refused: the request does not conform to docs/formats/control-socket.md.
    """
    if request.get("program") is True:
        raise Refused("forbidden", "only people can download a backup, with their own password")
    size_bytes = request.get("bytes")
    if type(size_bytes) is not int or size_bytes < 0 or not isinstance(request.get("data"), bool):
        raise Refused("bad_request", "'bytes' is a number from 0, 'data' true or false")
    return {"recorded": True}


REPORTS: Final = {"operated": reported, "backup_downloaded": backup_downloaded}
"""The functions that answer reports of actions performed elsewhere, by command name."""


def who_of(request: Mapping[str, Any]) -> str:
    """Return a description of the caller: the name, role and address in a request.

    The status page adds these values to each request that it sends.
    """
    kind = "the program " if request.get("program") is True else ""
    by, role, place = (shown(request.get(key)) for key in ("by", "role", "from"))
    return f"{kind}{by} ({role}) from {place}"


def arguments_of(request: Mapping[str, Any]) -> str:
    """Return the arguments of an action as a string. A payload is replaced by its size."""
    given = [each for each in sorted(request.items()) if each[0] not in _HIDDEN]
    return ", ".join(
        f"'payload_bytes'={len(str(value).encode('utf-8', 'replace'))}"
        if key == "payload"
        else f"{shown(key)}={shown(_without_query(key, value))}"
        for key, value in given[:ARGUMENTS_SHOWN_MAX]
    )


def _without_query(key: str, value: object) -> object:
    """Return an argument's value, without the query string of a `source` URL.

    The query string may contain a secret.
    """
    return value.partition("?")[0] if key == "source" and isinstance(value, str) else value


def outcome_of(answer: Mapping[str, Any]) -> str:
    """Return the result of an action as a string.

    The result of a reload names the configuration keys whose new values need a restart.
    """
    if answer["ok"] is not True:
        return f"refused: {answer['error']['message'][:SHOWN_CHARACTERS_MAX]!a}"
    waiting = answer["result"].get("needs_restart")
    return "done" if not waiting else f"done, needs a restart: {json.dumps(waiting)}"


def shown(value: object) -> str:
    """Return a value as printable ASCII for a log line, truncated if it is too long."""
    return ascii(value)[:SHOWN_CHARACTERS_MAX]


def caller_at(peer: socket.socket | None) -> str:
    """Return a description of the local user at the other end of the Unix socket `peer`."""
    if peer is None:
        return "a user of this machine"
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user_id, _ = _CREDENTIALS.unpack(credentials)
    return f"user id {user_id} of this machine"
