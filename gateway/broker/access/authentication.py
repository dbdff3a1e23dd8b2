"""Authentication of clients: the only entry point of this package.

The sources of users are queried in order. The first one that knows the user, or that handles the
kind of credential, gives the answer (decision 90). Enhanced authentication (MQTT 5.0 section 4.12)
is a separate exchange for each connection, by a method that belongs to one source. Every answer is
awaited, because a check may run in a thread or query another process. Password guessing is slowed
down here (gateway/broker/access/guesses.py). The server limits how many exchanges may be open, and
for how long.
"""

from collections.abc import Sequence
from typing import Protocol

from gateway.broker.access.checks import Checks
from gateway.broker.access.guesses import Guesses
from gateway.broker.access.login import Login
from gateway.broker.access.password_worker import PasswordHash
from gateway.broker.access.password_workers import WorkerFailed
from gateway.broker.access.passwords import PasswordFile
from gateway.broker.access.turns import Busy
from gateway.broker.access.users import FileUsers
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.codes import BAD_USER_NAME_OR_PASSWORD, SERVER_BUSY


class Exchange(Protocol):
    """Enhanced authentication of one client: answers each message that the client sends, in
    order.
    """

    async def step(self, data: bytes) -> AuthenticationAnswer:
        """Answer the authentication data of a CONNECT or AUTH packet.

        The answer's reason code is 0 (accepted, with the user's name), 0x18 (the client has to
        answer its data) or 0x80 and above (refused; the exchange is over).
        """


class Source(Protocol):
    """A source of users, such as a password file or a database."""

    @property
    def name(self) -> str:
        """The key of this source in the `[access]` section of the configuration."""

    @property
    def methods(self) -> Sequence[str]:
        """Names of the enhanced authentication methods that this source implements."""

    @property
    def has_passwords(self) -> bool:
        """True if this source checks passwords."""

    @property
    def problem(self) -> str | None:
        """A message for people: why this source cannot answer now. None if no problem is known."""

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        """Check a login.

        Return `Proven` if it is accepted, and None if this source does not know the user.

        Raises Busy and Abandoned.
        """

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        """Return the current data that proves this user, as in `Proven`. None: no such user.

        Raises NotKnown.
        """

    @property
    def recheck_seconds(self) -> float | None:
        """Seconds between repeated checks of the proofs of open connections.

        None: they are not repeated, because the proof changes only with a reload.
        """

    async def digest_of(
        self, login: Login, digest: bytes, checks: Checks, since: float
    ) -> bytes | None:
        """Return the `Proven.digest` that a login with the digest `digest` would get now.

        None: the user no longer exists. An answer obtained after `since` (in the event loop's time)
        is reused. Raises NotKnown.
        """

    @property
    def decoys(self) -> Sequence[PasswordHash]:
        """Hashes for unknown users: verifying one takes as long as for a real user, and always
        fails.
        """

    def begin(self, login: Login, checks: Checks) -> Exchange:
        """Start an exchange by one of `methods`."""

    def close(self) -> None:
        """Stop querying external systems."""


class Authenticator:
    """Checks clients against sources of users. Without sources there are no users."""

    def __init__(self, sources: Sequence[Source] = (), checks: Checks | None = None) -> None:
        """Query the sources in the given order.

        `checks` are taken over from the authenticator that this one replaces, so that its record of
        wrong guesses is kept.
        """
        self._sources = sources
        self._by_method = {method: each for each in sources for method in each.methods}
        self._with_passwords = next((each for each in sources if each.has_passwords), None)
        self._file = next((each for each in sources if isinstance(each, FileUsers)), None)
        self.checks = checks or Checks(Guesses())

    @property
    def sources(self) -> dict[str, Source]:
        """The sources of users in their order, by their keys in `[access]`."""
        return {source.name: source for source in self._sources}

    @property
    def has_users(self) -> bool:
        """True if there is any source of users to check names against."""
        return bool(self._sources)

    @property
    def methods(self) -> list[str]:
        """The enhanced authentication methods that `begin` accepts."""
        return list(self._by_method)

    @property
    def problems(self) -> list[str]:
        """Messages from the sources that cannot answer now, and why."""
        return [each.problem for each in self._sources if each.problem is not None]

    def replace_users(self, users: PasswordFile) -> frozenset[str] | None:
        """Replace the users of the password file. See `FileUsers.replace`."""
        assert self._file is not None, "the core was made without users"
        return self._file.replace(users)

    async def check(self, login: Login) -> AuthenticationAnswer:
        """Check whether a client that sent a password is the user that it names.

        Raises:
            Abandoned: the client no longer waits for the answer.
        """
        try:
            answer = await self._answer_of(login)
        except Busy:
            detail = "too many logins wait to be checked"
            return AuthenticationAnswer(SERVER_BUSY, None, None, detail)
        except WorkerFailed as failed:
            detail = f"the password was not checked: {failed}"
            return AuthenticationAnswer(SERVER_BUSY, None, None, detail)
        self.checks.remember(login, answer)
        return answer

    async def _answer_of(self, login: Login) -> AuthenticationAnswer:
        for source in self._sources:
            answer = await source.check(login, self.checks)
            if answer is not None:
                return answer
        if self._with_passwords is not None:
            # A login with an unknown name costs as much as one with a known name, so timing reveals
            # nothing.
            decoys = self._with_passwords.decoys
            await self.checks.held(login, decoys, login.password or b"")
        return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None)

    async def entry_of(self, source: str, login: Login) -> bytes | None:
        """Return the current data that proves the user of a login at the source named `source`.

        None: the user or the source does not exist (any more). Raises NotKnown.
        """
        for each in self._sources:
            if each.name == source:
                return await each.entry_of(login, self.checks)
        return None

    def begin(self, method: str, login: Login) -> Exchange:
        """Start an exchange by one of `methods`. Its steps can also raise Busy and Abandoned."""
        assert method in self._by_method, f"{method!r} is not among {self.methods}"
        return self._by_method[method].begin(login, self.checks)

    def close(self) -> None:
        """Stop checking. Checks that are already running finish on their own."""
        self.checks.close()
        self.close_sources()

    def close_sources(self, successor: "Authenticator | None" = None) -> None:
        """Close all sources, except those that `successor` continues to use."""
        kept = () if successor is None else successor.sources.values()
        for source in self._sources:
            if not any(source is each for each in kept):
                source.close()
