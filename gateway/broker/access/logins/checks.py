"""The queue of credential checks. A check is skipped if its client has disconnected.

Passwords are checked in other processes, because a thread that hashes would sometimes hold the
interpreter lock and delay the event loop on a busy machine. Token checks take less than a
millisecond and run in threads.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.turns import Turns
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.access.passwords.workers import PasswordWorkers
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.codes import BAD_USER_NAME_OR_PASSWORD

PASSWORD_CHECKS_MAX = 2
"""Concurrent password checks, at most. Each check runs in its own process.

A check uses one core and tens of MiB of memory. docs/services.md states the memory of an idle
process.
"""

PROOFS_MAX = 1
"""Concurrent checks of SCRAM proofs, at most. Each takes microseconds in the event loop."""

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


class Checks:
    """Scheduler of password and token checks. It decides which queued login is checked next."""

    def __init__(self, guesses: Guesses) -> None:
        self.guesses = guesses
        """Record of wrong guesses. They delay later logins by password, token or SCRAM proof."""
        self.proofs = Turns(guesses, PROOFS_MAX)
        self._turns = Turns(guesses, PASSWORD_CHECKS_MAX)
        self._workers = PasswordWorkers()
        self._threads = ThreadPoolExecutor(PASSWORD_CHECKS_MAX, "token")
        self._running: set[asyncio.Future[Any]] = set()

    def prepare(self) -> None:
        """Start a worker process for passwords, before a login needs it."""
        self._workers.prepare()

    @property
    def delayed(self) -> int:
        """Number of logins since the broker's start that were delayed after wrong passwords."""
        return self._turns.delayed + self.proofs.delayed

    @property
    def waiting(self) -> int:
        """Number of logins that are queued now."""
        return self._turns.waiting

    @property
    def failed_workers(self) -> int:
        """Number of worker processes that exited or did not respond during a password check."""
        return self._workers.failed_workers

    async def matches(
        self, login: Login, hashes: Sequence[PasswordHash], password: bytes
    ) -> list[bool]:
        """Wait for the login's turn, then check `password` against every hash in `hashes`.

        Return one Boolean per hash: True if `password` matches this hash.

        Raises:
            Busy: too many logins are queued.
            Abandoned: the client is no longer waiting.
            WorkerFailed: no worker process could check the password.
        """
        await self._turns.begin(login)
        return await self._finish(login, self._workers.matches(hashes, password))

    async def run(
        self,
        login: Login,
        check: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **keywords: Parameters.kwargs,
    ) -> Result:
        """Wait for the login's turn, then call `check` in a thread and return its result.

        Raises:
            Busy: too many logins are queued.
            Abandoned: the client is no longer waiting.
        """
        await self._turns.begin(login)
        loop = asyncio.get_running_loop()
        return await self._finish(
            login, loop.run_in_executor(self._threads, lambda: check(*arguments, **keywords))
        )

    async def _finish(self, login: Login, check: Awaitable[Result]) -> Result:
        """Wait until a running check is complete, and return its result.

        The check continues even if the caller is cancelled. When it is complete, another login in
        the queue may be checked.
        """
        running = asyncio.ensure_future(check)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        running.add_done_callback(lambda _: self._turns.end(login))
        try:
            return await asyncio.shield(running)
        finally:
            del running, check  # their exception refers to this frame, which is a reference cycle

    def remember(self, login: Login, answer: AuthenticationAnswer) -> None:
        """Record `answer`, the result of a login. It determines the delays of later logins.

        A wrong password delays later guesses. After a success, the user counts as known at the
        client's address, so that guesses from other addresses cannot lock the user out.

        If a token belongs to a user other than the one named in the packet, nothing is recorded.
        """
        keys = self.guesses.keys_of(login.origin, login.username)
        if answer.reason_code == 0 and answer.username == login.username:
            self.guesses.record_success(keys)
        elif answer.reason_code == BAD_USER_NAME_OR_PASSWORD:
            now = asyncio.get_running_loop().time()
            self.guesses.record_failure(keys, login.password, now)

    def close(self) -> None:
        """Stop the worker processes. No further check of credentials is started."""
        self._turns.stop()
        self.proofs.stop()
        self._workers.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
