"""User source for an identity provider. Users log in with a token instead of a password.

In an authentication exchange (RFC 7628), the client sends a single message::

    n,a=USER,^Ahost=HOST^Aport=PORT^Aauth=Bearer TOKEN^A^A       ^A: 0x01

The user name is taken from the token, even if the packet contains another name.
"""

import re
import time
from collections.abc import Sequence

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.proven import Proven
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.access.tokens.provider_keys import ProviderKeys, Unavailable, material_of
from gateway.broker.access.tokens.verification import (
    TOKEN_BYTES_MAX,
    Header,
    TokenRefused,
    TokenRules,
    check_header,
    header_of,
    token_of,
)
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.codes import NOT_AUTHORIZED, SERVER_UNAVAILABLE

METHOD = "OAUTHBEARER"
"""The name of this authentication method in CONNECT and AUTH."""

RECHECK_SECONDS_MAX = 60.0
"""Longest time between two checks that a connected user's token is still signed by a valid key.

A check uses cached keys, so it rarely sends a request to the provider.
"""

_FIRST = re.compile(
    rb"n,(?:a=([^,\x01]*))?,\x01(?:[^\x01]*\x01){0,16}?auth=[Bb]earer ([^\x01]+)\x01"
)


class TokenUsers:
    """User source for logins with a token. Other logins are left to the next user source."""

    name = "jwt"
    methods = (METHOD,)
    has_passwords = False

    def __init__(self, rules: TokenRules, keys: ProviderKeys, settings: str = "") -> None:
        """Store the rules and the provider's keys, which are used to check tokens.

        `settings` is a string that changes whenever the configuration of the rules or of the keys
        changes.
        """
        self._rules = rules
        self._entry = settings.encode()
        self._keys = keys

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        """Check the token that was sent as the password, and return the result.

        The result is None if the password is not a token.
        """
        if login.password is None:
            return None
        header = header_of(login.password)
        if header is None:
            return None
        return await self.answer_of(login, login.password, header, checks)

    async def answer_of(
        self, login: Login, token: bytes, header: Header, checks: Checks
    ) -> AuthenticationAnswer:
        """Check a token with the provider's key, and return the result of the check."""
        try:
            check_header(token, header, self._rules)
            key = await self._keys.get(header.key_id)
            if key is None:
                raise TokenRefused("the provider has no key of the name that it gives")
            proven = await checks.run(
                login,
                token_of,
                token,
                header,
                key,
                self._rules,
                client_id=login.client_id,
                now_seconds=time.time(),
            )
        except TokenRefused as refused:
            # Not 0x86, which counts as a guess. Signatures cannot be guessed, and a device with an
            # expired token must not delay other devices at its address.
            detail = f"token: {refused}"
            return AuthenticationAnswer(NOT_AUTHORIZED, None, None, detail)
        except Unavailable as error:
            detail = f"no token can be checked: {error}"
            return AuthenticationAnswer(SERVER_UNAVAILABLE, None, None, detail)
        return Proven(
            proven.username,
            self.name,
            self._entry,
            lifetime_seconds=max(0.0, proven.lifetime_seconds),
            groups=proven.groups,
            key=material_of(key),
        )

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        """Return the configured settings for tokens, because no data is stored about users.

        The settings are the same for every user. A login is valid until its token expires or the
        settings change. The provider is not queried.
        """
        return self._entry

    @property
    def recheck_seconds(self) -> float:
        """Seconds between repeated checks of the credentials of open connections.

        This is the time for which keys are cached, but at most RECHECK_SECONDS_MAX.
        """
        return min(self._keys.cache_seconds, RECHECK_SECONDS_MAX)

    async def digest_of(self, login: Login, digest: bytes, checks: Checks, since: float) -> bytes:
        """Return `digest` if the provider still has the key that signed the token, otherwise b"".

        `digest` is a digest of the key. The caller closes the connection if the result differs.
        """
        return digest if digest in await self._keys.digests() else b""

    @property
    def problem(self) -> str | None:
        """The reason why keys cannot be fetched now, or None if they can be fetched."""
        failure = self._keys.failure
        return None if failure is None else f"the identity provider's keys: {failure}"

    decoys: Sequence[PasswordHash] = ()
    """Empty, because there are no passwords whose check could reveal that a name exists."""

    def begin(self, login: Login, checks: Checks) -> "BearerLogin":
        """Start an OAUTHBEARER exchange."""
        return BearerLogin(self, login, checks)

    def close(self) -> None:
        """Stop fetching keys from the identity provider."""
        self._keys.close()


class BearerLogin:
    """OAUTHBEARER exchange of one client: one message and its response."""

    def __init__(self, users: TokenUsers, login: Login, checks: Checks) -> None:
        self._users = users
        self._login = login
        self._checks = checks

    async def step(self, data: bytes) -> AuthenticationAnswer:
        """Check the token in a CONNECT, or in an AUTH for re-authentication, and return the result.

        Raises:
            Busy: too many logins are queued.
            Abandoned: the client is no longer waiting.
        """
        found = _FIRST.match(data) if len(data) <= 2 * TOKEN_BYTES_MAX else None
        header = None if found is None else header_of(found[2])
        if found is None or header is None:
            detail = f"{METHOD}: the message is not n,,^Aauth=Bearer TOKEN^A^A with a signed token"
            return AuthenticationAnswer(NOT_AUTHORIZED, None, None, detail)
        answer = await self._users.answer_of(self._login, found[2], header, self._checks)
        wanted = found[1]
        if answer.username is not None and wanted and wanted != answer.username.encode():
            detail = f"{METHOD}: the token is another user's than the message names"
            return AuthenticationAnswer(NOT_AUTHORIZED, None, None, detail)
        return answer
