"""Authentication of clients against the user sources.

This module is the only entry point of the package for logins. It queries the user sources in order
until one of them accepts or rejects the login. A source that stores users decides only about its
own users. A source that checks tokens decides only about clients that send a token. Enhanced
authentication (MQTT 5.0 section 4.12) is a series of messages on one connection. Each
authentication method belongs to one source. All checks are asynchronous, because a check can run in
a thread or query another process. Wrong passwords delay later checks
(gateway/broker/access/logins/guesses.py). The server limits the number of open authentication
exchanges and their duration.
"""

from collections.abc import Sequence

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.turns import Busy
from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.passwords.workers import WorkerFailed
from gateway.broker.access.users.file import FileUsers
from gateway.broker.access.users.source import Exchange, Source
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.codes import BAD_USER_NAME_OR_PASSWORD, SERVER_BUSY


class Authenticator:
    """Authenticator that checks clients' credentials against user sources.

    Without user sources, it rejects every user.
    """

    def __init__(self, sources: Sequence[Source] = (), checks: Checks | None = None) -> None:
        """Store the user sources, which are queried in the given order.

        `checks` schedules the checks and contains the record of wrong passwords. When the
        configuration is reloaded, pass the `checks` of the previous authenticator to keep this
        record.
        """
        self._sources = sources
        self._by_method = {method: each for each in sources for method in each.methods}
        self._with_passwords = next((each for each in sources if each.has_passwords), None)
        self._file = next((each for each in sources if isinstance(each, FileUsers)), None)
        self.checks = checks or Checks(Guesses())

    @property
    def sources(self) -> dict[str, Source]:
        """The user sources, keyed by name, in the order in which they are queried."""
        return {source.name: source for source in self._sources}

    @property
    def has_users(self) -> bool:
        """True if at least one user source exists. Otherwise no user name can be authenticated."""
        return bool(self._sources)

    @property
    def methods(self) -> list[str]:
        """The names of the enhanced authentication methods that `begin` accepts."""
        return list(self._by_method)

    @property
    def problems(self) -> list[str]:
        """One message for each user source that cannot respond now, with the reason."""
        return [each.problem for each in self._sources if each.problem is not None]

    def prepare(self) -> None:
        """Start a worker process that checks passwords, if any user source stores passwords."""
        if self._with_passwords is not None:
            self.checks.prepare()

    def replace_users(self, users: PasswordFile) -> frozenset[str] | None:
        """Use `users`, the reloaded password file, for all later checks.

        Return the users whose passwords are no longer valid, or None if nothing changed.
        """
        assert self._file is not None, "the core was made without users"
        return self._file.replace(users)

    async def check(self, login: Login) -> AuthenticationAnswer:
        """Check the password or token of a client, and return the result.

        If no check is possible now, the result rejects the client with the reason code "server
        busy".

        Raises:
            Abandoned: the client is no longer waiting for the result.
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
            # A login with an unknown name costs as much as a login with a known name, so timing
            # reveals nothing.
            decoys = self._with_passwords.decoys
            await self.checks.matches(login, decoys, login.password or b"")
        return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None)

    async def entry_of(self, source: str, login: Login) -> bytes | None:
        """Return the data that a user source stores to authenticate the user of `login`.

        `source` is the name of this user source. The result is None if the user or the source no
        longer exists. Raises NotKnown if the source does not respond.
        """
        for each in self._sources:
            if each.name == source:
                return await each.entry_of(login, self.checks)
        return None

    def begin(self, method: str, login: Login) -> Exchange:
        """Start and return an authentication exchange. `method` must be one of `methods`.

        The method `step` of the exchange raises Busy if too many logins are queued, and Abandoned
        if the client is no longer waiting for the result.
        """
        assert method in self._by_method, f"{method!r} is not among {self.methods}"
        return self._by_method[method].begin(login, self.checks)

    def close(self) -> None:
        """Stop checking credentials, and close all user sources.

        No new check begins. Checks that are already running finish on their own.
        """
        self.checks.close()
        self.close_sources()

    def close_sources(self, successor: "Authenticator | None" = None) -> None:
        """Close all user sources, except those that `successor` also uses.

        `successor` is the authenticator that replaces this authenticator, if any.
        """
        kept = () if successor is None else successor.sources.values()
        for source in self._sources:
            if not any(source is each for each in kept):
                source.close()
