"""Repeated checks of the proofs on which open connections depend.

If a database row was removed or changed, or the identity provider has withdrawn a key, the
connections that depend on it end. Once per interval, a source is queried about all connections that
it proved, one after another and at a bounded rate. While it does not answer, no connection ends:
uninterrupted service of devices matters more than removing a user some minutes earlier. For new
logins `when_down` decides.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.broker.access.authentication import Source
from gateway.broker.access.checks import Checks
from gateway.broker.access.login import Login
from gateway.broker.access.proven import NotKnown, Proven
from gateway.broker.core.sessions.connection import Connection

CHECKS_PER_SECOND_MAX: Final = 100
"""Checks per second with one source, each at most one query: 10,000 connections take two
minutes."""

Ended = Callable[[Connection, bool], None]
"""Called with a connection whose proof is no longer valid, and whether its user no longer
exists."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof on which one connection depends."""

    source: str
    login: Login
    digest: bytes


class Proofs:
    """The proofs of all connections whose source can end them."""

    def __init__(self, ended: Ended) -> None:
        self._ended = ended
        self._proofs: dict[Connection, Proof] = {}
        self._due: dict[str, float] = {}
        self._passes: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._proofs)

    def keep(self, connection: Connection, login: Login, answer: Proven) -> None:
        """Store the proof of a connection that was accepted or re-authenticated."""
        proof = Proof(answer.source, login.of(login.username), answer.digest)
        self._proofs[connection] = proof

    def forget(self, connection: Connection) -> None:
        """Remove the proof of a connection that is gone."""
        self._proofs.pop(connection, None)

    def source_of(self, connection: Connection) -> str | None:
        """Return the source that proved a connection's user; None if it is none of these."""
        proof = self._proofs.get(connection)
        return None if proof is None else proof.source

    def tick(self, sources: Mapping[str, Source], checks: Checks) -> None:
        """Query the sources that are due. Called once a second."""
        loop = asyncio.get_running_loop()
        for name, source in sources.items():
            interval = source.recheck_seconds
            if interval is None or name in self._passes:
                continue
            due = self._due.setdefault(name, loop.time() + interval)
            if loop.time() >= due:
                self._due[name] = loop.time() + interval
                self._passes[name] = loop.create_task(self._pass(source, checks))

    async def _pass(self, source: Source, checks: Checks) -> None:
        """Query a source about each connection that it proved."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        asked = [each for each, proof in self._proofs.items() if proof.source == source.name]
        try:
            for number, connection in enumerate(asked):
                await asyncio.sleep(began + number / CHECKS_PER_SECOND_MAX - loop.time())
                await self._ask(source, connection, checks, began)
        finally:
            del self._passes[source.name]

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
        # It may have been lost, or proven again, during the query.
        if digest != proof.digest and self._proofs.get(connection) is proof:
            self._ended(connection, digest is None)

    def stop(self) -> None:
        """Stop all queries."""
        for task in self._passes.values():
            task.cancel()
