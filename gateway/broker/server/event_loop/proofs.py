"""Rechecks the credentials of open connections at regular intervals.

A connection is closed if the user's database row has been removed or changed, or if the identity
provider has withdrawn the key that signed the user's token. At fixed intervals, each user source is
queried about all connections that it authenticated. The rate of these queries is limited. While the
source is not available, no connection is closed, because uninterrupted service for devices is more
important than disconnecting a removed user a few minutes earlier. For new logins, the setting
`when_down` applies.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.proven import NotKnown, Proven
from gateway.broker.access.users.source import Source
from gateway.broker.core.sessions.connection import Connection

CHECKS_PER_SECOND_MAX: Final = 100
"""Maximum number of checks per second at one source. Each takes at most one query, so 10,000
connections take two minutes."""

Ended = Callable[[Connection, bool], None]
"""Called with a connection whose credentials are no longer valid, and with True if its user no
longer exists, else False."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The user source and login of one connection, and a digest of the client's credential."""

    source: str
    login: Login
    digest: bytes


class Proofs:
    """Credentials of the connections that were authenticated by regularly queried user sources."""

    def __init__(self, ended: Ended) -> None:
        self._ended = ended
        self._proofs: dict[Connection, Proof] = {}
        self._due: dict[str, float] = {}
        self._rechecks: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._proofs)

    def keep(self, connection: Connection, login: Login, answer: Proven) -> None:
        """Record the credentials of a connection that was accepted or re-authenticated.

        `login` contains the client's login data, and `answer` is the result of the check.
        """
        proof = Proof(answer.source, login.of(login.username), answer.digest)
        self._proofs[connection] = proof

    def forget(self, connection: Connection) -> None:
        """Stop checking the credentials of a closed connection."""
        self._proofs.pop(connection, None)

    def source_of(self, connection: Connection) -> str | None:
        """Return the name of the user source that authenticated a connection.

        The result is None if this source is not queried regularly.
        """
        proof = self._proofs.get(connection)
        return None if proof is None else proof.source

    def tick(self, sources: Mapping[str, Source], checks: Checks) -> None:
        """Start querying each user source whose next check is due. Called once a second."""
        loop = asyncio.get_running_loop()
        for name, source in sources.items():
            interval = source.recheck_seconds
            if interval is None or name in self._rechecks:
                continue
            due = self._due.setdefault(name, loop.time() + interval)
            if loop.time() >= due:
                self._due[name] = loop.time() + interval
                self._rechecks[name] = loop.create_task(self._recheck(source, checks))

    async def _recheck(self, source: Source, checks: Checks) -> None:
        """Query a user source about each connection that the source has authenticated."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        asked = [each for each, proof in self._proofs.items() if proof.source == source.name]
        try:
            for number, connection in enumerate(asked):
                await asyncio.sleep(began + number / CHECKS_PER_SECOND_MAX - loop.time())
                await self._ask(source, connection, checks, began)
        finally:
            del self._rechecks[source.name]

    async def _ask(
        self, source: Source, connection: Connection, checks: Checks, since: float
    ) -> None:
        proof = self._proofs.get(connection)
        if proof is None or not connection.is_open:
            return
        try:
            digest = await source.digest_of(proof.login, proof.digest, checks, since)
        except NotKnown:
            return
        # The connection may have been lost, or authenticated again, during the query.
        if digest != proof.digest and self._proofs.get(connection) is proof:
            self._ended(connection, digest is None)

    def stop(self) -> None:
        """Cancel all running queries to user sources."""
        for task in self._rechecks.values():
            task.cancel()
