"""The command `users`, which lists the users in the password file and users with stored data."""

from collections.abc import Callable
from heapq import nsmallest
from typing import Any, Final

from gateway.broker.access.users.file import FileUsers
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.event_loop import EventLoop

USERS_MAX: Final = 200
"""Maximum number of users per answer. Even with escaped names of 1,024 bytes, they fit into one
line of the protocol."""


class UserListCommands:
    """Handler for the command `users`, which lists users.

    The list contains the users in the password file, and users whose stored data counts towards
    their quotas.
    """

    def __init__(self, event_loop: EventLoop) -> None:
        self._event_loop = event_loop

    @property
    def commands(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """Handler function for the command `users`, keyed by command name."""
        return {"users": self.listed}

    def listed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Handle the command `users`. The users are sorted by name.

        Raises:
            Refused: the request does not conform to docs/formats/control-socket.md.
        """
        limit, after = request.get("limit", 100), text_of(request, "after", "")
        if type(limit) is not int or not 1 <= limit <= USERS_MAX:
            raise Refused("bad_request", f"'limit' has to be 1 to {USERS_MAX}")
        source = self._event_loop.authentications.sources.get("password_file")
        in_file = source.file.usernames if isinstance(source, FileUsers) else frozenset()
        owners = self._event_loop.broker.state.owners
        every = in_file.union(owners.users())
        names = nsmallest(limit + 1, (name for name in every if name > after))
        users = [self._shown(name, is_in_file=name in in_file) for name in names[:limit]]
        return {"users": users, "next": names[limit - 1] if len(names) > limit else None}

    def _shown(self, username: str, *, is_in_file: bool) -> dict[str, Any]:
        owner = self._event_loop.broker.state.owners.get(username)
        return {
            "username": username,
            "in_password_file": is_in_file,
            "connections": owner.connections,
            "sessions": owner.sessions,
            "queued_bytes": owner.queued_bytes,
            "retained": owner.retained,
        }
