"""Interfaces that the authenticator uses: a user source, and an authentication exchange."""

from collections.abc import Sequence
from typing import Protocol

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.core.effects import AuthenticationAnswer


class Exchange(Protocol):
    """The enhanced authentication exchange of one client.

    `step` must be called for each message of the client, in order.
    """

    async def step(self, data: bytes) -> AuthenticationAnswer:
        """Process the authentication data of a CONNECT or AUTH packet, and return the result.

        The result's reason code is 0 if the client is accepted. If the code is 0x80 or above, the
        client is rejected and the exchange is over. If the code is 0x18, the result's data must be
        sent to the client, and the exchange continues with the client's response.
        """


class Source(Protocol):
    """A user source, such as a password file or a database."""

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
        """A sentence that explains to operators why this source cannot respond now.

        None if no problem is known.
        """

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        """Check a login, and return the result.

        The result is None if the next source should decide, for example because this source does
        not contain the user.

        Raises Busy if too many logins are queued, Abandoned if the client is no longer waiting, and
        WorkerFailed if no worker process could check the password.
        """

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        """Return the user's current entry: the data that decides whether a login is accepted.

        The result is None for an unknown user. Raises NotKnown if the source does not respond.
        """

    @property
    def recheck_seconds(self) -> float | None:
        """Seconds between repeated checks of the credentials of open connections.

        None means that there are no repeated checks, because credentials change only when the
        configuration is reloaded.
        """

    async def digest_of(
        self, login: Login, digest: bytes, checks: Checks, since: float
    ) -> bytes | None:
        """Return the current digest (`Proven.digest`) of the credential that was used for `login`.

        `digest` is the digest from the time of the login. The result is None if the user no longer
        exists. Cached data may be used only if it was read after `since`, a time on the event
        loop's clock. Raises NotKnown if the source does not respond.
        """

    @property
    def decoys(self) -> Sequence[PasswordHash]:
        """Hashes to check for unknown users. No password matches them.

        A check of these hashes takes as long as a check of an existing user's hash.
        """

    def begin(self, login: Login, checks: Checks) -> Exchange:
        """Start an exchange for enhanced authentication with one of the methods in `methods`."""

    def close(self) -> None:
        """Stop querying external systems, such as a database."""
