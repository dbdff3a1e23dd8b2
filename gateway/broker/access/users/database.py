"""User source that reads users from a database, with a short-lived cache."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login, host_of
from gateway.broker.access.logins.proven import NotKnown, Proven, digest_of
from gateway.broker.access.logins.turns import Abandoned, Busy, Turns
from gateway.broker.access.passwords.file import decoy_hash
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.access.users.column_hashes import HashRefused, HashRules
from gateway.broker.access.users.queries import Database, DatabaseDown, Row
from gateway.broker.access.users.source import Exchange
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.codes import BAD_USER_NAME_OR_PASSWORD, SERVER_UNAVAILABLE

REMEMBERED_MAX: Final = 4_096
"""Cached rows, at most. A row takes about 500 bytes.

The row that was read from the database longest ago is dropped first.
"""

# Not Final, because tests shorten it.
RECHECK_SECONDS_MIN: float = 10.0
"""Shortest time between two checks of a connected user's row.

If rows are cached for a longer time, that time is used instead.
"""

GROUPS_MAX: Final = 256
GROUPS_CHARACTERS_MAX: Final = 16_384
"""Characters of a user's group names together, at most: the same limit as for a token."""

COLUMNS: Final = ("username", "password_hash", "salt", "user_groups")
"""The columns of the query's result that are used."""

NAME_CHARACTERS_MAX: Final = 1_024
"""Longest user name that is looked up: the same limit as in the password file."""

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Query:
    """An SQL statement with `%s` placeholders, and the names of the login fields that fill them."""

    statement: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, written: str) -> "Query":
        """Parse a query from the configuration, such as `SELECT ... ${username} ...`."""
        names = tuple(_PLACEHOLDER.findall(written))
        return cls(_PLACEHOLDER.sub("%s", written.replace("%", "%%")), names)

    def values_of(self, login: Login) -> tuple[str, ...]:
        """Return the fields of a login that fill the statement's placeholders, in order."""
        known = {
            "username": login.username,
            "clientid": login.client_id,
            "peerhost": host_of(login.address),
            "certificate": login.certificate or "",
            "listener": login.listener,
        }
        return tuple(known[name] for name in self.names)


@dataclass(frozen=True, slots=True)
class User:
    """A user, as read from a row of the database."""

    name: str | None
    """The user name in the row, or None if the row contains no name."""
    password_hash: PasswordHash
    groups: frozenset[str]
    entry: bytes = field(repr=False)
    """The fields of the row that decide a login, serialised: name, hash, salt and groups."""


class DatabaseUsers:
    """User source that looks users up in a database. Unknown users are left to the next source."""

    name = "mysql"
    methods = ()
    has_passwords = True

    def __init__(
        self,
        database: Database,
        query: Query,
        hashes: HashRules,
        *,
        connections: int,
        cache_seconds: float,
        when_down: Literal["refuse", "next"],
    ) -> None:
        self._database = database
        self._query = query
        self._hashes = hashes
        self._connections = connections
        self._cache_seconds = cache_seconds
        self._when_down = when_down
        self._turns: Turns | None = None
        self._remembered: OrderedDict[tuple[str, ...], tuple[float, User]] = OrderedDict()
        self._usual: PasswordHash = decoy_hash()
        """A typical hash, verified for unknown users so that their logins take the same time."""

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        """Check the password of a user, and return the result.

        The result is None for an unknown user. If the database does not respond, the
        configuration determines the result: either None, so that the next source decides, or a
        rejection.

        Raises:
            Busy: too many logins are queued.
            Abandoned: the client is no longer waiting.
            WorkerFailed: no worker process could check the password.
        """
        if login.password is None or not 1 <= len(login.username) <= NAME_CHARACTERS_MAX:
            return None
        values = self._query.values_of(login)
        user = self._remembered_user(values)
        if user is not None and await self._matches(user, login, login.password, checks):
            return _accepted(user, login)
        try:
            now = await self._read(values, login, checks)
        except (DatabaseDown, HashRefused) as error:
            return self._answer_without(error)
        if now is None:
            return None
        is_other = user is None or now.password_hash != user.password_hash
        if is_other and await self._matches(now, login, login.password, checks):
            return _accepted(now, login)
        return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None)

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        """Return the user's entry: the fields of the row that decide whether a login is accepted.

        The result is None if the user has no row, or if the row is invalid.

        Raises:
            NotKnown: the database does not respond.
        """
        values = self._query.values_of(login)
        user = self._remembered_user(values)
        if user is None:
            try:
                # No password is checked, so wrong guesses from this address must not delay it.
                user = await self._read(values, Login(""), checks)
            except (DatabaseDown, Busy, Abandoned) as error:
                raise NotKnown(f"the database of users: {error}") from None
            except HashRefused:
                return None
        return None if user is None else user.entry

    @property
    def recheck_seconds(self) -> float:
        """Seconds between repeated checks of the credentials of open connections.

        This is the time for which a row is cached, but at least RECHECK_SECONDS_MIN.
        """
        return max(self._cache_seconds, RECHECK_SECONDS_MIN)

    async def digest_of(
        self, login: Login, digest: bytes, checks: Checks, since: float
    ) -> bytes | None:
        """Return the digest of the user's entry in the database, or None if there is no such user.

        A cached row is used only if it was read after the time `since`.

        Raises:
            NotKnown: the database does not respond.
        """
        values = self._query.values_of(login)
        found = self._remembered.get(values)
        if found is None or found[0] < since:
            self._remembered.pop(values, None)
        entry = await self.entry_of(login, checks)
        return None if entry is None else digest_of(entry)

    def _answer_without(self, error: DatabaseDown | HashRefused) -> AuthenticationAnswer | None:
        detail = f"the database of users: {error}"
        if isinstance(error, HashRefused):
            return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None, detail)
        if self._when_down == "next":
            return None
        return AuthenticationAnswer(SERVER_UNAVAILABLE, None, None, detail)

    @property
    def problem(self) -> str | None:
        """The reason why the database is not responding, or None if it is responding."""
        failure = self._database.failure
        return None if failure is None else f"the database of users: {failure}"

    @property
    def decoys(self) -> Sequence[PasswordHash]:
        """Hashes to check for unknown users, so that these logins take as long as other logins."""
        return (self._usual,)

    def begin(self, login: Login, checks: Checks) -> Exchange:
        """Raise AssertionError, because this source does not support enhanced authentication."""
        raise AssertionError("a database has no method of enhanced authentication")

    def close(self) -> None:
        """Stop sending queries, and close the connections."""
        if self._turns is not None:
            self._turns.stop()
        self._database.close()

    @staticmethod
    async def _matches(user: User, login: Login, password: bytes, checks: Checks) -> bool:
        return all(await checks.matches(login, (user.password_hash,), password))

    def _remembered_user(self, values: tuple[str, ...]) -> User | None:
        found = self._remembered.get(values)
        if found is None:
            return None
        read_at, user = found
        if asyncio.get_running_loop().time() - read_at > self._cache_seconds:
            del self._remembered[values]
            return None
        return user

    async def _read(self, values: tuple[str, ...], login: Login, checks: Checks) -> User | None:
        """Read a user from the database, or return None if the query returns no row.

        Raises DatabaseDown if the query fails, HashRefused if the row is invalid, Busy if too many
        logins are queued, and Abandoned if the client is no longer waiting.
        """
        if self._turns is None:
            self._turns = Turns(checks.guesses, self._connections)
        await self._turns.begin(login)
        try:
            rows = await self._database.rows(self._query.statement, values)
        finally:
            self._turns.end(login)
        self._remembered.pop(values, None)
        if not rows:
            return None
        user = self._user_of(rows)
        self._usual = user.password_hash
        if self._cache_seconds:
            self._remembered[values] = (asyncio.get_running_loop().time(), user)
            if len(self._remembered) > REMEMBERED_MAX:
                self._remembered.popitem(last=False)
        return user

    def _user_of(self, rows: list[Row]) -> User:
        if len(rows) > 1:
            raise HashRefused("the query finds several rows for one user")
        row = rows[0]
        if "password_hash" not in row:
            raise HashRefused("the query has no column password_hash")
        password_hash = self._hashes.parse(row["password_hash"], row.get("salt"))
        entry = repr([row.get(column) for column in COLUMNS]).encode()
        return User(_name_of(row), password_hash, _groups_of(row.get("user_groups")), entry)


def _accepted(user: User, login: Login) -> Proven:
    return Proven(user.name or login.username, DatabaseUsers.name, user.entry, groups=user.groups)


def _name_of(row: Row) -> str | None:
    """Return the user name as the database spells it.

    The client may have spelled the name differently, because some databases ignore case.
    """
    if "username" not in row:
        return None
    name = row["username"]
    if not isinstance(name, str) or not name or not name.isprintable():
        raise HashRefused("username is no name of a user")
    return name


def _groups_of(written: object) -> frozenset[str]:
    """Split the value of the column `user_groups` into group names, at spaces and commas."""
    if written is None:
        return frozenset()
    if not isinstance(written, str):
        raise HashRefused("user_groups is not a text")
    if len(written) > GROUPS_CHARACTERS_MAX:
        raise HashRefused(f"user_groups has more than {GROUPS_CHARACTERS_MAX} characters")
    words = written.replace(",", " ").split()
    if len(words) > GROUPS_MAX:
        raise HashRefused(f"user_groups has more than {GROUPS_MAX} words")
    return frozenset(words)
