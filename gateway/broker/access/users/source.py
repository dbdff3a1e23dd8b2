"""Interfaces that the authenticator uses: a source of users, and an authentication exchange."""

from collections.abc import Sequence
from typing import Protocol

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.core.effects import AuthenticationAnswer


class Exchange(Protocol):
    """The enhanced authentication exchange of one client.

    The exchange responds to the client's messages in order.
    """

    async def step(self, data: bytes) -> AuthenticationAnswer:
        """Process the authentication data of a CONNECT or AUTH packet.

        The reason code of the result is 0 (accepted, with the user's name), 0x18 (the client must
        respond to the result's data) or 0x80 and above (rejected; the exchange is over).
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
        """A message for people: why this source cannot respond now. None if no problem is known."""

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        """Check a login.

        Return `Proven` if the login is accepted, a rejection if it is rejected, or None if this
        source does not know the user. Raises Busy if too many logins are queued, and Abandoned if
        the client no longer waits.
        """

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        """Return the current data that authenticates a user, as in `Proven.entry`.

        Return None for an unknown user. Raises NotKnown if the source does not respond.
        """

    @property
    def recheck_seconds(self) -> float | None:
        """Seconds between repeated checks of the credentials of open connections.

        None means that there are no repeated checks, because credentials change only with a reload.
        """

    async def digest_of(
        self, login: Login, digest: bytes, checks: Checks, since: float
    ) -> bytes | None:
        """Return the `Proven.digest` that the same login would get now.

        `digest` is the digest from the time of the login. Return None if the user no longer exists.
        A result that was obtained after `since` (in the event loop's time) is reused. Raises
        NotKnown if the source does not respond.
        """

    @property
    def decoys(self) -> Sequence[PasswordHash]:
        """Hashes to verify for unknown users.

        Verification takes as long as for an existing user, and always fails.
        """

    def begin(self, login: Login, checks: Checks) -> Exchange:
        """Start an exchange for enhanced authentication, by a method in `methods`."""

    def close(self) -> None:
        """Stop querying external systems, such as a database."""
