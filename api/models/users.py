"""Broker users and tokens of programs, and the administrators' requests to change them."""

from typing import Annotated, Literal

from pydantic import Field

from api import limits
from api.mistakes import TOKEN_NAME
from api.models.actions import Given
from api.models.values import Count, Password, Reported


class User(Reported):
    username: str
    in_password_file: bool
    """False if a database, token or certificate authenticates the user, or the user was removed."""
    connections: Count
    sessions: Count
    queued_bytes: Count
    retained: Count
    """Number of retained messages that belong to the user."""
    role: str | None = None
    """Role on the page that is configured for this user name; null if none, or only by a group."""


class UserPage(Reported):
    """A page of users, sorted by name."""

    users: list[User]
    next: str | None
    """Send this value as `after` to get the next page; null on the last page."""


class AskedUsers(Given):
    limit: Annotated[int, Field(ge=1, le=limits.USERS_PER_REQUEST_MAX)] = limits.USERS_PER_PAGE
    after: Annotated[str, Field(max_length=limits.USERNAME_BYTES_MAX)] = ""


class ProgramToken(Reported):
    name: str
    role: str
    made: str
    """The day on which the token was created, in UTC."""


class TokenList(Reported):
    tokens: list[ProgramToken]
    problem: str | None
    """Reason why the file of tokens is not used; null if it is."""


_Name = Annotated[str, Field(min_length=1, max_length=limits.USERNAME_BYTES_MAX)]


class SetPassword(Given):
    user: _Name
    password: Password
    own_password: Password
    """The password of the administrator who makes the change."""


class RemoveUser(Given):
    user: _Name
    own_password: Password
    """The password of the administrator who makes the change."""


class PasswordSet(Reported):
    added: bool
    """True if the user is new."""


class UserRemoved(Reported):
    removed: bool


class AddToken(Given):
    name: Annotated[
        str,
        Field(min_length=1, max_length=limits.TOKEN_NAME_CHARACTERS_MAX, pattern=TOKEN_NAME),
    ]
    """The program's name."""
    token_role: Literal["viewer", "operator", "administrator"] = "viewer"  # noqa: S105
    """The role of the program."""
    own_password: Password
    """The password of the administrator who does it."""


class RemoveToken(Given):
    name: Annotated[str, Field(min_length=1, max_length=limits.TOKEN_NAME_CHARACTERS_MAX)]
    own_password: Password
    """The password of the administrator who does it."""


class TokenAdded(Reported):
    token: str
    """The token, which is shown only once. The token file contains only its hash."""


class TokenRemoved(Reported):
    removed: bool
