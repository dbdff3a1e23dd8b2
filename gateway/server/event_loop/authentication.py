"""Answers the core's questions about credentials, a task for each question.

The exchanges of enhanced authentication that wait for their clients are kept here: a bounded number
of them, each for no longer than its connection, and none without limit.
"""

import asyncio
from collections.abc import Callable

from gateway.access.authentication import PASSWORD_CHECKS_MAX, Authenticator, Exchange
from gateway.access.passwords import PasswordFile
from gateway.core.broker import Broker
from gateway.core.effects import AuthenticationAnswer, AuthenticationRequest
from gateway.core.sessions.connection import Connection, ConnectionState
from gateway.core.violation import NOT_AUTHORIZED, SERVER_BUSY

EXCHANGES_MAX = 1_000
"""Exchanges at a time: some 20 MB at worst, when each client sends the longest name. A fleet that
comes back together needs a few round trips each; a client too many is answered to try again."""


class Waiting:
    """An exchange, and when the broker's patience with its client ends."""

    def __init__(self, exchange: Exchange, deadline: asyncio.TimerHandle) -> None:
        self.exchange = exchange
        self.deadline = deadline


class Authentications:
    """Every check of credentials that is under way."""

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
        self._tasks: set[asyncio.Task[None]] = set()
        self._password_slots = asyncio.Semaphore(PASSWORD_CHECKS_MAX)
        self._waiting: dict[Connection, Waiting] = {}

    @property
    def exchange_count(self) -> int:
        """How many exchanges are under way."""
        return len(self._waiting)

    @property
    def users(self) -> PasswordFile | None:
        """The users of this moment; None: there are no passwords."""
        return self._authenticator.users

    def replace_users(self, users: PasswordFile) -> frozenset[str] | None:
        """Take these for the users: see `Authenticator.replace_users`."""
        return self._authenticator.replace_users(users)

    def begin(self, request: AuthenticationRequest) -> None:
        """Let a question be answered; `answered` is called when the core has its answer."""
        if not request.connection.is_open:
            return  # lost since: an exchange made now would never be forgotten
        if request.method is not None and request.is_first:
            refusal = self._open(request.connection, request.method)
            if refusal is not None:
                self._settle(request.connection, refusal)
                return
        task = self._loop.create_task(self._ask(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def forget(self, connection: Connection) -> None:
        """Forget a connection that is gone, or whose exchange is over."""
        waiting = self._waiting.pop(connection, None)
        if waiting is not None:
            waiting.deadline.cancel()

    def stop(self) -> None:
        """Ask nothing more."""
        for task in list(self._tasks):
            task.cancel()
        self._authenticator.close()
        for connection in list(self._waiting):
            self.forget(connection)

    def _open(self, connection: Connection, method: str) -> AuthenticationAnswer | None:
        self.forget(connection)
        if len(self._waiting) >= EXCHANGES_MAX:
            detail = f"{EXCHANGES_MAX} exchanges are under way"
            return AuthenticationAnswer(SERVER_BUSY, None, None, detail)
        patience_seconds = self._broker.limits.connect_timeout_seconds
        deadline = self._loop.call_later(patience_seconds, self._expire, connection)
        self._waiting[connection] = Waiting(self._authenticator.begin(method), deadline)
        return None

    def _expire(self, connection: Connection) -> None:
        # A client that is not let in yet is ended by the core's own connect timeout; one that has
        # begun to re-authenticate and does not go on would hold its exchange without limit.
        if connection.state is ConnectionState.CONNECTED:
            detail = "re-authentication was not finished within connect_timeout"
            self._settle(connection, AuthenticationAnswer(NOT_AUTHORIZED, None, None, detail))

    async def _ask(self, request: AuthenticationRequest) -> None:
        connection = request.connection
        if request.method is None:
            async with self._password_slots:
                if not connection.is_open:
                    return  # it has given up while it waited
                answer = await self._authenticator.check_password(
                    request.username, request.password
                )
        else:
            waiting = self._waiting.get(connection)
            if waiting is None:
                return  # lost, or out of patience, since the question was asked
            answer = await waiting.exchange.step(request.data)
        self._settle(connection, answer)

    def _settle(self, connection: Connection, answer: AuthenticationAnswer) -> None:
        if answer.reason_code == 0 or answer.reason_code >= 0x80:
            self.forget(connection)
        self._broker.authenticated(connection, answer, self._loop.time())
        self._answered(connection)

    async def check_page_login(
        self, username: str, password: bytes, address: str
    ) -> AuthenticationAnswer:
        """Answer whether the password is the user's, for a person at the status page.

        It waits in one line with the passwords of clients. `address` is where the person is, with
        a port, as connections have it.
        """
        async with self._password_slots:
            return await self._authenticator.check_password(username, password)
