"""Users of the broker, and tokens of programs, for administrators."""

from typing import Annotated

from pydantic import Field

from api import limits
from api.models.actions import Given
from api.models.values import Count, Reported


class User(Reported):
    username: str
    in_password_file: bool
    """False: a database, a token or a certificate has proven it, or it was removed."""
    connections: Count
    sessions: Count
    queued_bytes: Count
    retained: Count
    """Its retained messages."""
    role: str | None = None
    """The role on the page by this name; null: none, or by a group."""


class UserPage(Reported):
    """A page of users, by name."""

    users: list[User]
    next: str | None
    """Give this as `after` to get the next page; null on the last one."""


class AskedUsers(Given):
    limit: Annotated[int, Field(ge=1, le=limits.USERS_PER_REQUEST_MAX)] = limits.USERS_PER_PAGE
    after: Annotated[str, Field(max_length=limits.USERNAME_BYTES_MAX)] = ""


class ProgramToken(Reported):
    name: str
    role: str
    made: str
    """The day it was created, in UTC."""


class TokenList(Reported):
    tokens: list[ProgramToken]
    problem: str | None
    """Why the file of tokens is not used."""


_Name = Annotated[str, Field(min_length=1, max_length=limits.USERNAME_BYTES_MAX)]
_Password = Annotated[str, Field(min_length=1, max_length=limits.PASSWORD_BYTES_MAX)]


class SetPassword(Given):
    user: _Name
    password: _Password
    own_password: _Password
    """The password of the administrator who does it."""


class RemoveUser(Given):
    user: _Name
    own_password: _Password
    """The password of the administrator who does it."""


class PasswordSet(Reported):
    added: bool
    """True if the user is new."""


class UserRemoved(Reported):
    removed: bool
