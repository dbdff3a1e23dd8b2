"""Work on credentials that takes a processor: in threads, in turn, and only for who still waits."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from gateway.access.guesses import Guesses
from gateway.access.login import Login
from gateway.access.turns import Turns
from gateway.core.effects import AuthenticationAnswer
from gateway.core.violation import BAD_USER_NAME_OR_PASSWORD
from gateway.threads import give_way

PASSWORD_CHECKS_MAX = 2
"""Passwords checked at a time: each takes a core and tens of MiB for as long as it lasts."""

PROOFS_MAX = 1
"""Proofs of SCRAM judged at a time: they are judged on the loop's thread, within microseconds."""

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


class Checks:
    """The threads that check passwords, and who is next for them."""

    def __init__(self, guesses: Guesses) -> None:
        self.guesses = guesses
        """What all kinds of logins are delayed by."""
        self.proofs = Turns(guesses, PROOFS_MAX)
        self._turns = Turns(guesses, PASSWORD_CHECKS_MAX)
        # Clients that are let in already come first: on two cores, two checks take all of both.
        self._threads = ThreadPoolExecutor(PASSWORD_CHECKS_MAX, "password", initializer=give_way)

    @property
    def delayed(self) -> int:
        """Logins that had to wait for what was guessed before, since the start."""
        return self._turns.delayed + self.proofs.delayed

    @property
    def waiting(self) -> int:
        """Logins that wait for a thread now."""
        return self._turns.waiting

    async def run(
        self,
        login: Login,
        check: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **keywords: Parameters.kwargs,
    ) -> Result:
        """Return what `check` returns, called in a thread when it is the login's turn.

        Raises:
            Busy, Abandoned: it was not called.
        """
        await self._turns.begin(login)
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, lambda: check(*arguments, **keywords))
        # The thread goes on also where the task that waits for it is cancelled: so does the turn.
        running.add_done_callback(lambda _: self._turns.end(login))
        return await asyncio.shield(running)

    def remember(self, login: Login, answer: AuthenticationAnswer) -> None:
        """Let what was answered count for who guesses, and for who is known.

        A token's user may be another than the packet names: that one has proven nothing.
        """
        place = self.guesses.place_of(login.origin, login.username)
        if answer.reason_code == 0 and answer.username == login.username:
            self.guesses.succeeded(place)
        elif answer.reason_code == BAD_USER_NAME_OR_PASSWORD:
            now = asyncio.get_running_loop().time()
            self.guesses.failed(place, login.password, now)

    def close(self) -> None:
        """Check nothing more; what is being checked ends by itself."""
        self._turns.stop()
        self.proofs.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
