"""Commands accepted on the status page's socket, and a line of the audit log for each.

The page decides who the caller is. The role is checked again here: a role that no user, group or
token of ``[api]`` can have is refused, whatever the page claims.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from gateway.broker.server.control import sensors
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
    **dict.fromkeys(sensors.COMMANDS, "operator"),
}
"""All commands that ``operate.sock`` accepts. ``drop`` is missing, because it discards messages."""

_READING: Final = sensors.READING | {"users"}
NAME_CHARACTERS_MAX: Final = 1_024
"""Longest name of a caller: the same limit as for a user's name."""


class OperatorCommands:
    """Checks what the configuration allows callers to do, and logs what was done."""

    def __init__(self) -> None:
        self.page: Api | None = None
        """The configuration of the page; None: no actions are allowed."""
        self.counted: Counter[str] = Counter()
        """Actions since the start, by command; ``refused`` are those not carried out."""

    def permit(self, name: str, request: Mapping[str, Any]) -> None:
        """Check that the caller may use a command.

        Raises:
            Refused: the command is not allowed on this socket, or not with the caller's role.
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
        """Return the highest role that this caller can have. Groups and tokens are unknown here."""
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
        """Count a request, and log one line about it.

        A question is no action. An open page repeats it while the bridge is away.
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
