"""Roles of people and programs on the status page.

Each role includes the permissions of the roles before it. A viewer can see everything. An operator
can also close connections and ban clients. An administrator can also reload the configuration. This
module does no I/O.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Role(IntEnum):
    """Role of a caller. The members are in ascending order of permissions."""

    VIEWER = 1
    OPERATOR = 2
    ADMINISTRATOR = 3

    @property
    def word(self) -> str:
        """The role's name in the configuration and in files."""
        return self.name.lower()


ROLES_BY_WORD = {role.word: role for role in Role}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Configured roles, keyed by user name and by group name."""

    users: Mapping[str, Role] = field(default_factory=dict)
    groups: Mapping[str, Role] = field(default_factory=dict)

    def of(self, username: str, groups: Iterable[str]) -> Role | None:
        """Return the highest role that a user has directly or as a member of a group.

        Return None if the user has no role.
        """
        found = [self.users.get(username), *map(self.groups.get, groups)]
        return max((role for role in found if role is not None), default=None)

    def __bool__(self) -> bool:
        """Return True if any user or group has a role."""
        return bool(self.users or self.groups)
