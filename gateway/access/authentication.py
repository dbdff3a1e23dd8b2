"""The one entry to this room: is this client who it claims to be?

A user name with a password is one question. Enhanced authentication (5.0 section 4.12) is an
exchange of its own for each connection, with as many steps as its method wants. Every answer is
awaited, because a check may take its time in a thread or ask another process; nothing here waits
for a client. How many may ask at the same time, and for how long, is up to the server.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gateway.access.decoys import decoy_keys_of
from gateway.access.passwords import PasswordFile
from gateway.access.scram import METHOD, ScramExchange
from gateway.access.scram_keys import ScramKeys
from gateway.core.effects import AuthenticationAnswer
from gateway.core.violation import BAD_USER_NAME_OR_PASSWORD
from gateway.threads import give_way

PASSWORD_CHECKS_MAX = 2
"""Passwords checked at a time: each takes a core and tens of MiB for as long as it lasts."""


class Exchange:
    """One client's enhanced authentication: answers to what it sends, in order."""

    def __init__(self, scram: ScramExchange, still_holds: Callable[[str], bool]) -> None:
        self._scram = scram
        self._still_holds = still_holds

    async def step(self, data: bytes) -> AuthenticationAnswer:
        """Answer the authentication data of CONNECT or of the next AUTH.

        The answer's reason code is 0 (accepted, with the user's name), 0x18 (the client has to
        answer its data) or 0x80 and above (refused; the exchange is over).
        """
        answer = self._scram.step(data)
        if answer.username is not None and not self._still_holds(answer.username):
            return AuthenticationAnswer(
                BAD_USER_NAME_OR_PASSWORD, None, None, "the password was changed meanwhile"
            )
        return answer


class Authenticator:
    """Checks clients against the users of the password file; None: there are no users."""

    def __init__(self, users: PasswordFile | None, decoy_key: bytes) -> None:
        self._users = users
        self._decoy_key = decoy_key
        # Clients that are let in already come first: on two cores, two checks take all of both.
        self._checks = ThreadPoolExecutor(PASSWORD_CHECKS_MAX, "password", initializer=give_way)

    @property
    def has_users(self) -> bool:
        """There are passwords to check user names against."""
        return self._users is not None

    @property
    def methods(self) -> list[str]:
        """The methods of enhanced authentication for `begin`."""
        # Offered also while no user has SCRAM keys: what is offered must not depend on users.
        return [] if self._users is None else [METHOD]

    @property
    def users(self) -> PasswordFile | None:
        """The users of this moment."""
        return self._users

    def replace_users(self, users: PasswordFile) -> frozenset[str] | None:
        """Take these for the users, from the next answer on.

        Returns:
            The users whose password does not hold any more; None: nothing is different.
        """
        assert self._users is not None, "the core was made without users"
        before, self._users = self._users, users
        return users.revoked_since(before) if users.differs_from(before) else None

    async def check_password(self, username: str, password: bytes) -> AuthenticationAnswer:
        """Answer whether the password is the user's."""
        users = self._users
        if users is not None:
            # Argon2 costs tens of milliseconds on purpose: not on the loop's thread.
            check = asyncio.get_running_loop().run_in_executor
            if await check(self._checks, users.verify, username, password):
                now = self._users
                if now is None or not now.has_same_entry(users, username):
                    # Changed while it was checked: what was right then may not be any more.
                    return await self.check_password(username, password)
                return AuthenticationAnswer(0, None, username)
        return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None)

    def close(self) -> None:
        """Check nothing more; what is being checked ends by itself."""
        self._checks.shutdown(wait=False, cancel_futures=True)

    def begin(self, method: str) -> Exchange:
        """Begin an exchange by one of `methods`."""
        assert method == METHOD, f"{method!r} is not among {self.methods}"
        began_with = self._users

        def still_holds(username: str) -> bool:
            now = self._users
            return (
                now is not None
                and began_with is not None
                and (now.has_same_entry(began_with, username))
            )

        return Exchange(ScramExchange(self._scram_keys_of), still_holds)

    def _scram_keys_of(self, username: str) -> ScramKeys:
        users = self._users
        assert users is not None
        # Made for every name, so that the time taken does not show which exist.
        decoy = decoy_keys_of(
            username, key=self._decoy_key, iterations=users.usual_scram_iterations
        )
        return users.scram_keys_of(username) or decoy
