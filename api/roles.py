"""What a person or a program may do on the page. Pure.

Each role may do what those before it may. The page has nothing to do but to show today, so that
what an operator and an administrator may is what a viewer may.
"""

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
