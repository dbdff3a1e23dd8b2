"""Users of open connections are checked again, slowly; an unreachable source ends no connection."""

import asyncio
from collections.abc import Sequence
from typing import cast

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.proven import NotKnown, Proven
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.access.users.source import Exchange, Source
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.server.event_loop.proofs import CHECKS_PER_SECOND_MAX, Proofs
from gateway.broker.wire.decoder import Decoder


class Rows:
    """A source of users whose rows a test changes; it fails for the user `unknown`."""

    name = "rows"
    methods = ()
    has_passwords = True
    problem = None
    recheck_seconds = 0.0

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}
        self.asked: list[str] = []

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        raise AssertionError("no client logs in")

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        raise AssertionError("no person is at the page")

    async def digest_of(
        self, login: Login, digest: bytes, checks: Checks, since: float
    ) -> bytes | None:
        self.asked.append(login.username)
        if login.username == "unknown":
            raise NotKnown("it does not answer")
        row = self.rows.get(login.username)
        return None if row is None else self.proven(login.username, row).digest

    def proven(self, username: str, row: bytes) -> Proven:
        return Proven(username, self.name, row)

    decoys: Sequence[PasswordHash] = ()

    def begin(self, login: Login, checks: Checks) -> Exchange:
        raise AssertionError("it has no method")

    def close(self) -> None:
        self.rows.clear()


def connection_of(username: str) -> Connection:
    made = Connection("192.0.2.7:1", Decoder(100), False, 0.0)
    made.username = username
    return made


async def swept(source: Rows, usernames: list[str]) -> list[tuple[str | None, bool]]:
    """Check one connection of each user again, whose row was b"1"; return the ended users."""
    ended: list[tuple[str | None, bool]] = []
    proofs = Proofs(lambda connection, gone: ended.append((connection.username, gone)))
    for username in usernames:
        proven = source.proven(username, b"1")
        proofs.keep(connection_of(username), Login(username, b"secret"), proven)
    checks = Checks(Guesses())
    proofs.tick({"rows": cast(Source, source)}, checks)
    await asyncio.gather(*proofs._rechecks.values())
    assert proofs._rechecks == {}
    checks.close()
    return ended


async def test_what_differs_and_who_is_gone_end_and_what_is_not_known_goes_on() -> None:
    source = Rows()
    source.rows = {"same": b"1", "changed": b"2"}
    users = ["unknown", "same", "changed", "gone"]
    assert await swept(source, users) == [("changed", False), ("gone", True)]
    assert source.asked == users, "one that is not known keeps no other from being asked about"


async def test_questions_are_asked_at_a_bounded_rate() -> None:
    source = Rows()
    count = CHECKS_PER_SECOND_MAX // 4
    began = asyncio.get_running_loop().time()
    assert await swept(source, ["unknown"] * count) == []
    seconds = asyncio.get_running_loop().time() - began
    assert len(source.asked) == count
    assert seconds >= 0.99 * (count - 1) / CHECKS_PER_SECOND_MAX
