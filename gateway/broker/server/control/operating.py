"""Authorisation and audit log for commands on the status page's socket.

The status page authenticates the caller, and reports the caller's name and role. This module checks
the role again. The configuration section `[api]` assigns roles to users, groups and tokens. If it
does not allow the caller to have the reported role, the command is refused.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from gateway.broker.server.control import card_requests, sensors
from gateway.broker.server.control.operations import (
    SHOWN_CHARACTERS_MAX,
    arguments_of,
    shown,
    who_of,
)
from gateway.broker.server.control.refused import Refused, text_of
from gateway.configuration.page import ROLES, Api

logger = logging.getLogger(__name__)

LEAST_ROLES: Final[Mapping[str, str]] = {
    "kick": "operator",
    "ban": "operator",
    "lift_ban": "operator",
    "acknowledge_alarm": "operator",
    "publish": "operator",
    "clear_retained": "operator",
    "reload": "administrator",
    "users": "administrator",
    "set_password": "administrator",
    "remove_user": "administrator",
    "restart": "administrator",
    "reboot": "administrator",
    "add_token": "administrator",
    "remove_token": "administrator",
    "backup_downloaded": "administrator",
    **dict.fromkeys(card_requests.COMMANDS, "administrator"),
    **dict.fromkeys(sensors.COMMANDS, "operator"),
}
"""The commands that `operate.sock` accepts, with the lowest role for each. `drop` is missing
because it discards messages."""

_READING: Final = sensors.READING | {"users"}
NAME_CHARACTERS_MAX: Final = 1_024
"""Maximum length of a caller's name, equal to that of a user name."""


class OperatorPermissions:
    """Permission checks for operators' commands, with counters and a log."""

    def __init__(self) -> None:
        self.page: Api | None = None
        """The configuration of the status page. None before the start, when no commands are
        allowed."""
        self.counted: Counter[str] = Counter()
        """Number of actions since the start, by command. `refused` counts those that were not
        performed."""

    def permit(self, name: str, request: Mapping[str, Any]) -> None:
        """Check that the caller of a request may use the command `name` on this socket.

        Raises:
            Refused: the command is not allowed on this socket, or the caller's role is too low.
        """
        if name not in LEAST_ROLES:
            raise Refused("forbidden", f"this socket takes only {', '.join(sorted(LEAST_ROLES))}")
        by, role = text_of(request, "by"), text_of(request, "role")
        text_of(request, "from")
        is_program = request.get("program", False)
        if role not in ROLES or not isinstance(is_program, bool):
            raise Refused("bad_request", f"'role' is one of {ROLES}, 'program' true or false")
        if not 0 < len(by) <= NAME_CHARACTERS_MAX:
            raise Refused("bad_request", f"'by' has 1 to {NAME_CHARACTERS_MAX} characters")
        if ROLES.index(role) > self._highest_of(by, is_program=is_program):
            raise Refused("forbidden", f"[api] gives {by[:200]!r} no role of {role}")
        if ROLES.index(role) < ROLES.index(LEAST_ROLES[name]):
            raise Refused("forbidden", f"{name} is for {LEAST_ROLES[name]}s, not for {role}s")

    def _highest_of(self, name: str, *, is_program: bool) -> int:
        """Return the index in `ROLES` of the highest role that a caller can have, or -1 if none.

        `name` is the caller's name. Neither groups nor tokens are known here. A person is therefore
        treated as a member of every configured group, and a program as the owner of a token with
        the highest role.
        """
        page = self.page
        if page is None or not page.has_operators:
            return -1
        if is_program:
            return -1 if page.tokens_file is None else len(ROLES) - 1
        roles = [*page.group_roles.values()]
        if name in page.roles:
            roles.append(page.roles[name])
        return max((ROLES.index(role) for role in roles), default=-1)

    def note(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Count a command, and log one line about the command.

        Commands that only read are counted and logged only if they are forbidden, because an open
        status page sends them again and again.
        """
        name = str(request.get("command"))[:SHOWN_CHARACTERS_MAX]
        is_done = answer["ok"] is True
        if name in _READING and (is_done or answer["error"]["code"] != "forbidden"):
            return
        self.counted[name if is_done else "refused"] += 1
        logger.log(
            logging.INFO if is_done else logging.WARNING,
            "page: %s: %s(%s): %s",
            *(who_of(request), shown(name), arguments_of(request)),
            "done" if is_done else f"refused: {answer['error']['message'][:1000]!a}",
        )
