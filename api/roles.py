"""What a person or a program may do on the page. Pure.

Each role may do what those before it may: a viewer sees everything, an operator ends connections
and bans, an administrator has the configuration read again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Role(IntEnum):
    """In the order of what they may."""

    VIEWER = 1
    OPERATOR = 2
    ADMINISTRATOR = 3

    @property
    def word(self) -> str:
        """As configuration and files have it."""
        return self.name.lower()


ROLES_BY_WORD = {role.word: role for role in Role}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Who has which role: users by name, and the members of groups."""

    users: Mapping[str, Role] = field(default_factory=dict)
    groups: Mapping[str, Role] = field(default_factory=dict)

    def of(self, username: str, groups: Iterable[str]) -> Role | None:
        """Return the highest role of a user, by name or group; None: the user has none."""
        found = [self.users.get(username), *map(self.groups.get, groups)]
        return max((role for role in found if role is not None), default=None)

    def __bool__(self) -> bool:
        """Return whether any user may have a role."""
        return bool(self.users or self.groups)
