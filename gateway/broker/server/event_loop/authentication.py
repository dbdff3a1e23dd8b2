"""Runs credential checks for the broker core and the status page.

Each check is an asyncio task.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from gateway.broker.access.authentication import Authenticator
from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.proven import Proven
from gateway.broker.access.logins.turns import Abandoned, Busy
from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.users.source import Source
from gateway.broker.core.broker import Broker
from gateway.broker.core.effects import AuthenticationAnswer, AuthenticationRequest
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.violation import Violation
from gateway.broker.server.event_loop.exchanges import Exchanges
from gateway.broker.server.event_loop.proofs import Proofs
from gateway.broker.wire.codes import FIRST_ERROR, NOT_AUTHORIZED, SERVER_BUSY

CREDENTIALS_REVOKED: Final = "credentials_revoked"
"""Reason name for connections that are closed because their user's credentials are no longer
valid."""

REVOKED_DETAIL: Final = "its user's credentials are no longer valid"

PAGE: Final = "page"
"""Listener name for logins at the status page. A database query can refer to it."""


def _do_nothing(username: str) -> None:
    """Do nothing. This is the default for the callback `Authentications.user_gone`."""


def _note_nothing(username: str, seconds: float | None) -> None:
    """Do nothing. This is the default for the callback `Authentications.user_proven`."""


class Authentications:
    """Executor of credential checks. All checks use the current authenticator."""

    def __init__(
        self,
        broker: Broker,
        authenticator: Authenticator,
        answered: Callable[[Connection], None],
    ) -> None:
        self._broker = broker
        self._authenticator = authenticator
        self._answered = answered
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._exchanges = Exchanges()
        self.proofs = Proofs(self._end)
        self.user_gone: Callable[[str], None] = _do_nothing
        """Called with a user that no longer exists at its source, unless another source has
        authenticated one of the user's connections."""
        self.user_proven: Callable[[str, float | None], None] = _note_nothing
        """Called with an accepted user and the number of seconds for which the authentication is
        valid. None means that it is valid as long as the source contains the user."""
        self._counted: Counter[str] = Counter()

    @property
    def problems(self) -> list[str]:
        """Error messages of the user sources that are currently unavailable."""
        return self._authenticator.problems

    def replace_users(self, users: PasswordFile) -> frozenset[str] | None:
        """Check all later logins against `users`, the newly loaded password file.

        Return the users whose passwords are no longer valid, or None if nothing changed.
        """
        return self._authenticator.replace_users(users)

    @property
    def sources(self) -> dict[str, Source]:
        """A dictionary of the current user sources. The keys are those used in `[access]`."""
        return self._authenticator.sources

    @property
    def methods(self) -> list[str]:
        """Names of the enhanced authentication methods that clients may use."""
        return self._authenticator.methods

    @property
    def checks(self) -> Checks:
        """The queue of credential checks, which also keeps the record of failed logins."""
        return self._authenticator.checks

    def tick(self) -> None:
        """Start rechecking the credentials of open connections, if a check is due.

        Called once a second.
        """
        self.proofs.tick(self._authenticator.sources, self.checks)

    def replace(self, authenticator: Authenticator) -> None:
        """Replace all user sources, because the configuration was reloaded.

        Authentication exchanges that are in progress are rejected with "server busy".
        """
        before, self._authenticator = self._authenticator, authenticator
        before.close_sources(authenticator)
        detail = "the sources of users were replaced"
        for connection in self._exchanges.connections:
            self._settle(connection, AuthenticationAnswer(SERVER_BUSY, None, None, detail))

    def begin(self, request: AuthenticationRequest) -> None:
        """Start to check the credentials in an authentication request.

        The result is passed to the core. Then the callback `answered` from the constructor is
        called.
        """
        connection = request.connection
        if not connection.is_open:
            return  # the connection was lost meanwhile: a new exchange would never be removed
        login = _login_of(request)
        if request.is_first and request.method not in (None, *self._authenticator.methods):
            detail = "the sources of users were replaced"
            self._settle(connection, AuthenticationAnswer(SERVER_BUSY, None, None, detail))
            return
        if request.method is not None and request.is_first:
            self._open(connection, request.method, login)
        task = self._loop.create_task(self._ask(request, login))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def forget(self, connection: Connection) -> None:
        """Discard a connection's authentication exchange, if there is one.

        Called when the exchange is complete or the connection has ended.
        """
        self._exchanges.forget(connection)

    def stop(self) -> None:
        """Cancel all running credential checks."""
        self.proofs.stop()
        for task in list(self._tasks):
            task.cancel()
        self._authenticator.close()
        self._exchanges.clear()

    def _open(self, connection: Connection, method: str, login: Login) -> None:
        self._exchanges.forget(connection)
        origin = login.origin
        other = self._exchanges.connection_to_close(origin)
        if other is not None:
            detail = f"{len(self._exchanges)} exchanges are under way"
            self._settle(other, AuthenticationAnswer(SERVER_BUSY, None, None, detail))
        patience_seconds = self._broker.limits.connect_timeout_seconds
        deadline = self._loop.call_later(patience_seconds, self._expire, connection)
        exchange = self._authenticator.begin(method, login)
        self._exchanges.add(connection, exchange, origin, deadline)

    def _expire(self, connection: Connection) -> None:
        # A client that is not connected yet is subject to the core's connect timeout. A connected
        # client that stops in the middle of re-authentication would keep its exchange forever.
        if connection.state is ConnectionState.CONNECTED:
            detail = "re-authentication was not finished within connect_timeout"
            self._settle(connection, AuthenticationAnswer(NOT_AUTHORIZED, None, None, detail))

    async def _ask(self, request: AuthenticationRequest, login: Login) -> None:
        connection = request.connection
        exchange = self._exchanges.get(connection)
        try:
            if request.method is None:
                answer = await self._checked(login)
            elif exchange is None:
                return  # the exchange was lost or timed out after the request
            else:
                answer = await exchange.step(request.data)
        except Abandoned:
            return
        except Busy:
            detail = "too many logins are waiting to be checked"
            answer = AuthenticationAnswer(SERVER_BUSY, None, None, detail)
        finally:
            self._count()
        if request.method is None or self._exchanges.get(connection) is exchange:
            self._settle(connection, answer)
            self._keep_proof(connection, answer, login)

    def _keep_proof(
        self, connection: Connection, answer: AuthenticationAnswer, login: Login
    ) -> None:
        if not isinstance(answer, Proven) or connection.session is None or not connection.is_open:
            return
        if answer.username is not None:
            self.user_proven(answer.username, answer.lifetime_seconds)
        source = self.sources.get(answer.source)
        if source is not None and source.recheck_seconds is not None:
            self.proofs.keep(connection, login, answer)

    def _end(self, connection: Connection, is_gone: bool) -> None:
        """Close a connection whose credentials are no longer valid.

        `is_gone` is True if the user source no longer contains the user.
        """
        username = connection.username
        source = self.proofs.source_of(connection)
        if is_gone and username is not None:
            others = self._connections_of(username)
            if all(self.proofs.source_of(other) == source for other in others):
                self.user_gone(username)
        self.proofs.forget(connection)
        violation = Violation(CREDENTIALS_REVOKED, NOT_AUTHORIZED, REVOKED_DETAIL)
        self._broker.end_for(connection, violation, self._loop.time())
        self._answered(connection)

    def note_proof(self, username: str, seconds: float | None) -> None:
        """Report to the callback `user_proven` that a user is authenticated for `seconds`."""
        self.user_proven(username, seconds)

    def withdraw(self, username: str) -> None:
        """Report to the callback `user_gone` that a user's certificate is no longer valid.

        If the user still has an open connection, nothing is reported.
        """
        if not self._connections_of(username):
            self.user_gone(username)

    def _connections_of(self, username: str) -> list[Connection]:
        return [
            each.connection
            for each in self._broker.state.sessions.values()
            if each.username == username and each.connection is not None
        ]

    async def _checked(self, login: Login) -> AuthenticationAnswer:
        while True:
            asked = self._authenticator
            answer = await asked.check(login)
            if asked is self._authenticator:
                return answer
            # A login that was valid with the previous sources may not be valid any more.

    def _count(self) -> None:
        checks = self._authenticator.checks
        now = Counter(login_delayed=checks.delayed, password_worker=checks.failed_workers)
        for reason, count in (now - self._counted).items():
            self._broker.statistics.count_error(reason, count)
        self._counted = now

    def _settle(self, connection: Connection, answer: AuthenticationAnswer) -> None:
        if answer.reason_code == 0 or answer.reason_code >= FIRST_ERROR:
            self.forget(connection)
        self._broker.authenticated(connection, answer, self._loop.time())
        self._answered(connection)

    async def check_page_login(
        self, username: str, password: bytes, address: str
    ) -> AuthenticationAnswer:
        """Check the password of a person who logs in at the status page.

        The check waits in the same queue as client logins. After a wrong password, later attempts
        are delayed. `address` is the person's address and port.
        """
        login = Login(username, password, listener=PAGE, address=address)
        check = self._loop.create_task(self._checked(login))
        self._tasks.add(check)
        check.add_done_callback(self._tasks.discard)
        # A wrong password counts even if the client disconnects before the answer.
        return await asyncio.shield(check)

    async def entry_of_page_user(self, source: str, username: str, address: str) -> bytes | None:
        """Return the stored credential data of a user who has logged in at the status page.

        The caller uses this data to detect changed credentials. `source` is the name of the user
        source that accepted the login. The result is None if the user or the source no longer
        exists. Raises NotKnown if the source is not available.
        """
        login = Login(username, listener=PAGE, address=address)
        return await self._authenticator.entry_of(source, login)


def _login_of(request: AuthenticationRequest) -> Login:
    connection = request.connection
    if connection.session is not None:
        client_id = connection.session.client_id
    else:
        client_id = "" if connection.connect is None else connection.connect.client_id
    return Login(
        request.username,
        request.password if request.method is None else None,
        client_id,
        connection.listener,
        connection.address,
        connection.proven_user,
        lambda: connection.is_open,
    )
