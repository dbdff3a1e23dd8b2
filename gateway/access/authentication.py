"""The one entry to this room: is this client who it claims to be?

Sources of users are asked in order, and the first that knows the user, or the kind of what the
client brought, answers; see decision 90. Enhanced authentication (5.0 section 4.12) is an exchange
of its own for each connection, by a method that belongs to one source. Every answer is awaited,
because a check may take its time in a thread or ask another process. Guessing is slowed here
(gateway/access/guesses.py); how many exchanges may be open, and for how long, is up to the server.
"""

from collections.abc import Sequence
from typing import Protocol

from gateway.access.checks import Checks
from gateway.access.guesses import Guesses
from gateway.access.login import Login
from gateway.access.password_worker import PasswordHash
from gateway.access.password_workers import WorkerFailed
from gateway.access.passwords import PasswordFile
from gateway.access.turns import Busy
from gateway.access.users import FileUsers
from gateway.core.effects import AuthenticationAnswer
from gateway.wire.codes import BAD_USER_NAME_OR_PASSWORD, SERVER_BUSY


class Exchange(Protocol):
    """One client's enhanced authentication: answers to what it sends, in order."""

    async def step(self, data: bytes) -> AuthenticationAnswer:
        """Answer the authentication data of CONNECT or of the next AUTH.

        The answer's reason code is 0 (accepted, with the user's name), 0x18 (the client has to
        answer its data) or 0x80 and above (refused; the exchange is over).
        """


class Source(Protocol):
    """Where users stand."""

    @property
    def name(self) -> str:
        """Its key in `[access]`."""

    @property
    def methods(self) -> Sequence[str]:
        """The methods of enhanced authentication that are this source's."""

    @property
    def has_passwords(self) -> bool:
        """Whether it checks passwords."""

    @property
    def problem(self) -> str | None:
        """What keeps it from answering now, for people; None: nothing is known to."""

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        """Answer a login, as Proven where it is right; None: it is not about a user of this source.

        Raises Busy and Abandoned.
        """

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        """Return what would prove the user of a login now, as `Proven` has it; None: no such user.

        Raises NotKnown.
        """

    @property
    def recheck_seconds(self) -> float | None:
        """How often proofs of connections are asked about again; None: never, for what it proves
        changes with a reload alone."""

    async def digest_of(
        self, login: Login, digest: bytes, checks: Checks, since: float
    ) -> bytes | None:
        """Return the `Proven.digest` that a login would be given now, which had `digest`.

        None: there is no such user. An answer that is younger than `since`, a time of the loop, is
        used again. Raises NotKnown.
        """

    @property
    def decoys(self) -> Sequence[PasswordHash]:
        """Hashes whose check takes as long as that of a user's password, and fails."""

    def begin(self, login: Login, checks: Checks) -> Exchange:
        """Begin an exchange by one of `methods`."""

    def close(self) -> None:
        """Ask nothing more of what is elsewhere."""


class Authenticator:
    """Checks clients against sources of users; without any there are no users."""

    def __init__(self, sources: Sequence[Source] = (), checks: Checks | None = None) -> None:
        """Ask these, in their order.

        `checks` are those of the authenticator in whose place it comes: what they know of guessing
        still counts.
        """
        self._sources = sources
        self._by_method = {method: each for each in sources for method in each.methods}
        self._with_passwords = next((each for each in sources if each.has_passwords), None)
        self._file = next((each for each in sources if isinstance(each, FileUsers)), None)
        self.checks = checks or Checks(Guesses())

    @property
    def sources(self) -> dict[str, Source]:
        """The sources of users by their keys in `[access]`, in their order."""
        return {source.name: source for source in self._sources}

    @property
    def has_users(self) -> bool:
        """There is something to check user names against."""
        return bool(self._sources)

    @property
    def methods(self) -> list[str]:
        """The methods of enhanced authentication for `begin`."""
        return list(self._by_method)

    @property
    def problems(self) -> list[str]:
        """What keeps sources from answering now."""
        return [each.problem for each in self._sources if each.problem is not None]

    def replace_users(self, users: PasswordFile) -> frozenset[str] | None:
        """Take these for the users of the file: see `FileUsers.replace`."""
        assert self._file is not None, "the core was made without users"
        return self._file.replace(users)

    async def check(self, login: Login) -> AuthenticationAnswer:
        """Answer whether a client that sent a password is the user that it names.

        Raises:
            Abandoned: the client does not wait for the answer any more.
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
            # A name that does not exist costs what one costs that does: time does not show which.
            decoys = self._with_passwords.decoys
            await self.checks.held(login, decoys, login.password or b"")
        return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None)

    async def entry_of(self, source: str, login: Login) -> bytes | None:
        """Return what would prove the user of a login to a source now.

        None: there is no such user, or no such source any more. Raises NotKnown.
        """
        for each in self._sources:
            if each.name == source:
                return await each.entry_of(login, self.checks)
        return None

    def begin(self, method: str, login: Login) -> Exchange:
        """Begin an exchange by one of `methods`; its steps raise Busy and Abandoned as well."""
        assert method in self._by_method, f"{method!r} is not among {self.methods}"
        return self._by_method[method].begin(login, self.checks)

    def close(self) -> None:
        """Check nothing more; what is being checked ends by itself."""
        self.checks.close()
        self.close_sources()

    def close_sources(self, successor: "Authenticator | None" = None) -> None:
        """Ask nothing more of what is elsewhere, but where `successor` does: it goes on with the
        checks."""
        kept = () if successor is None else successor.sources.values()
        for source in self._sources:
            if not any(source is each for each in kept):
                source.close()
