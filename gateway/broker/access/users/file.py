"""The password file as a user source, including SCRAM exchanges."""

import asyncio
from collections.abc import Sequence

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.proven import Proven
from gateway.broker.access.passwords.decoys import decoy_keys_of
from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.passwords.scram import METHOD, ScramExchange
from gateway.broker.access.passwords.scram_keys import ScramKeys, are_of_empty_password
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.codes import BAD_USER_NAME_OR_PASSWORD


class FileUsers:
    """User source that uses the password file. Unknown users are left to the next source."""

    name = "password_file"
    has_passwords = True
    methods = (METHOD,)
    """SCRAM is offered even if no user has SCRAM keys, so the offer reveals nothing about users."""

    def __init__(self, file: PasswordFile, decoy_key: bytes) -> None:
        self.file = file
        """The current contents of the password file."""
        self._decoy_key = decoy_key

    def replace(self, file: PasswordFile) -> frozenset[str] | None:
        """Use `file`, the reloaded password file, for all later checks.

        Returns:
            The users whose passwords are no longer valid, or None if nothing changed.
        """
        before, self.file = self.file, file
        return file.revoked_since(before) if file.differs_from(before) else None

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        """Check the password of a user, and return the result, or None for an unknown user.

        Raises:
            Busy: too many logins are queued.
            Abandoned: the client is no longer waiting.
            WorkerFailed: no worker process could check the password.
        """
        file = self.file
        password = login.password
        if password is None or login.username not in file:
            return None
        hashes, own = file.hashes_of(login.username)
        results = await checks.matches(login, hashes, password)
        is_right = any(
            each is own for each, matches in zip(hashes, results, strict=True) if matches
        )
        if is_right and self.file.has_same_entry(file, login.username):
            entry = file.entry_of(login.username)
            assert entry is not None, "its password was checked"
            return Proven(login.username, self.name, entry)
        if is_right:
            # The user changed during the check, so the result may be outdated.
            return await self.check(login, checks)
        return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None)

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        """Return the user's line in the file, or None if the file does not contain the user."""
        return self.file.entry_of(login.username)

    recheck_seconds = None

    async def digest_of(
        self, login: Login, digest: bytes, checks: Checks, since: float
    ) -> bytes | None:
        """Return `digest` unchanged, because users change only when the file is reloaded."""
        return digest

    @property
    def problem(self) -> None:
        """Always None, because the password file is loaded before this source is used."""

    @property
    def decoys(self) -> Sequence[PasswordHash]:
        """Hashes to check for unknown users, so that the check takes as long as for known users."""
        return self.file.hashes_of("")[0]

    def begin(self, login: Login, checks: Checks) -> "ScramLogin":
        """Start a SCRAM exchange."""
        return ScramLogin(self, login, checks)

    def close(self) -> None:
        """Do nothing, because no file or connection is open."""

    def scram_keys_of(self, username: str) -> ScramKeys:
        """Return the SCRAM keys of a user, or decoy keys if the user is unknown.

        No password matches decoy keys.
        """
        # Decoy keys are computed for every name, so timing does not reveal which names exist.
        decoy = decoy_keys_of(
            username, key=self._decoy_key, iterations=self.file.usual_scram_iterations
        )
        return self.file.scram_keys_of(username) or decoy


class ScramLogin:
    """SCRAM exchange of one client, checked against the users in the password file."""

    def __init__(self, users: FileUsers, login: Login, checks: Checks) -> None:
        self._users = users
        self._login = login
        self._checks = checks
        self._began_with = users.file
        self._scram = ScramExchange(users.scram_keys_of)

    async def step(self, data: bytes) -> AuthenticationAnswer:
        """Process the authentication data of a CONNECT or AUTH packet, and return the response.

        Raises:
            Busy: too many logins are queued.
            Abandoned: the client is no longer waiting.
        """
        username = self._scram.username
        if not username:
            return self._scram.step(data)
        login = self._login.of(username)
        await self._checks.proofs.begin(login)
        try:
            answer = self._judged(data)
            if answer.username is not None and await self._has_empty_password(username):
                detail = "the password is empty"
                answer = AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None, detail)
            self._checks.remember(login, answer)
        finally:
            self._checks.proofs.end(login)
        return answer

    async def _has_empty_password(self, username: str) -> bool:
        keys = self._began_with.scram_keys_of(username)
        return keys is not None and await asyncio.to_thread(are_of_empty_password, keys)

    def _judged(self, data: bytes) -> AuthenticationAnswer:
        answer = self._scram.step(data)
        username = answer.username
        if username is None or self._users.file.has_same_entry(self._began_with, username):
            return answer
        detail = "the password was changed meanwhile"
        return AuthenticationAnswer(BAD_USER_NAME_OR_PASSWORD, None, None, detail)
