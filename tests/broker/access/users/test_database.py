"""A real MariaDB as a source of users."""

from collections.abc import Iterator
from typing import Literal

import bcrypt
import pytest
import pytest_asyncio

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.access.users import queries as database_module
from gateway.broker.access.users.column_hashes import HashRules
from gateway.broker.access.users.database import DatabaseUsers, Query
from gateway.broker.access.users.queries import Database, Server
from gateway.configuration.mysql import DEFAULT_QUERY
from tests.peers.mariadb import PASSWORD, USER, MariaDB

WITH_GROUPS = (
    "SELECT username, password_hash, user_groups FROM mqtt_user "
    "WHERE username = ${username} AND password_hash LIKE '$2%' AND ${clientid} <> ''"
)


def hash_of(password: bytes) -> str:
    return bcrypt.hashpw(password, bcrypt.gensalt(4)).decode()


@pytest.fixture
def checks() -> Iterator[Checks]:
    made = Checks(Guesses())
    yield made
    made.close()


@pytest_asyncio.fixture
async def filled(mariadb: MariaDB) -> MariaDB:
    await mariadb.execute(
        "CREATE OR REPLACE TABLE mqtt_user (username VARCHAR(100), password_hash VARCHAR(200), "
        "user_groups VARCHAR(100))",
        *(
            f"INSERT INTO mqtt_user VALUES ({row})"  # noqa: S608 - values of ours
            for row in (
                f"'anna', '{hash_of(b'secret')}', 'ops, cellar'",
                f"'twice', '{hash_of(b'secret')}', NULL",
                f"'twice', '{hash_of(b'secret')}', NULL",
                "'plain', 'secret', NULL",
            )
        ),
    )
    return mariadb


def users_of(
    mariadb: MariaDB,
    query: str = DEFAULT_QUERY,
    *,
    cache: float = 0.0,
    when_down: Literal["refuse", "next"] = "refuse",
    database: str = "mqtt",
) -> DatabaseUsers:
    server = Server(socket=str(mariadb.socket), user=USER, password=PASSWORD, database=database)
    return DatabaseUsers(
        Database(server, 5),
        Query.of(query),
        HashRules(),
        connections=2,
        cache_seconds=cache,
        when_down=when_down,
    )


async def outcome(
    users: DatabaseUsers, checks: Checks, username: str, password: bytes | None
) -> tuple[int, str | None, str] | None:
    answer = await users.check(Login(username, password, "id", address="192.0.2.7:1"), checks)
    return None if answer is None else (answer.reason_code, answer.username, answer.detail)


async def test_a_user_of_the_database_is_answered_and_every_other_is_left(
    filled: MariaDB, checks: Checks
) -> None:
    users = users_of(filled)
    assert await outcome(users, checks, "anna", b"secret") == (0, "anna", "")
    assert await outcome(users, checks, "anna", b"wrong") == (0x86, None, "")
    for name in ("nobody", "", "' OR 1=1 -- ", "x" * 65_535):
        assert await outcome(users, checks, name, b"secret") is None
    assert await outcome(users, checks, "anna", None) is None
    users.close()


async def test_the_user_is_called_what_the_database_calls_it(
    filled: MariaDB, checks: Checks
) -> None:
    users = users_of(filled)
    assert await outcome(users, checks, "ANNA", b"secret") == (0, "anna", "")
    users.close()


async def test_a_row_that_cannot_be_a_user_is_refused_with_the_reason(
    filled: MariaDB, checks: Checks
) -> None:
    for name, query, reason in (
        ("plain", DEFAULT_QUERY, "no form that is known"),
        ("twice", DEFAULT_QUERY.removesuffix(" LIMIT 1"), "several rows"),
        ("anna", "SELECT username FROM mqtt_user WHERE username = ${username}", "no column"),
    ):
        users = users_of(filled, query)
        found = await outcome(users, checks, name, b"secret")
        assert found is not None
        assert found[0] == 0x86
        assert reason in found[2]
        assert "secret" not in found[2]
        users.close()


async def test_the_query_decides_who_is_a_user_and_returns_groups(
    filled: MariaDB, checks: Checks
) -> None:
    users = users_of(filled, WITH_GROUPS)
    answer = await users.check(Login("anna", b"secret", "id"), checks)
    assert answer is not None
    assert answer.groups == {"ops", "cellar"}
    assert await users.check(Login("anna", b"secret", ""), checks) is None
    assert await users.check(Login("plain", b"secret", "id"), checks) is None
    users.close()


async def test_a_row_is_used_again_and_a_new_password_counts_immediately(
    filled: MariaDB, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = users_of(filled, cache=60.0)
    assert await outcome(users, checks, "anna", b"secret") == (0, "anna", "")
    new = hash_of(b"new")
    await filled.execute(f"UPDATE mqtt_user SET password_hash = '{new}'")  # noqa: S608
    assert await outcome(users, checks, "anna", b"new") == (0, "anna", "")
    assert await outcome(users, checks, "anna", b"secret") == (0x86, None, "")
    await filled.execute("DELETE FROM mqtt_user")
    assert await outcome(users, checks, "anna", b"new") == (0, "anna", ""), "until the cache ends"
    monkeypatch.setattr(users, "_cache_seconds", -1.0)
    assert await outcome(users, checks, "anna", b"new") is None
    users.close()


async def test_a_database_that_is_down_refuses_or_leaves_it_to_the_next_source(
    filled: MariaDB, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "DOWN_SECONDS", 60.0)
    users = users_of(filled, database="missing")
    for _ in range(2):
        found = await outcome(users, checks, "anna", b"secret")
        assert found is not None
        assert found[:2] == (0x88, None)
        assert "the database of users: OperationalError" in found[2]
    assert users.problem is not None
    assert users.problem.startswith("the database of users: OperationalError")
    leaving = users_of(filled, database="missing", when_down="next")
    assert await outcome(leaving, checks, "anna", b"secret") is None


def test_a_query_names_its_values_where_they_stand() -> None:
    query = Query.of("SELECT '%' WHERE a = ${username} AND b = ${peerhost} OR c = ${username}")
    assert query.statement == "SELECT '%%' WHERE a = %s AND b = %s OR c = %s"
    login = Login("anna", b"x", "id", "l", "[2001:db8::1]:5", "cert")
    assert query.values_of(login) == ("anna", "2001:db8::1", "anna")
    names = Query.of("${clientid}${certificate}${listener}").values_of(login)
    assert names == ("id", "cert", "l")


def test_what_is_checked_for_a_name_that_does_not_exist_holds_no_password(
    mariadb: MariaDB,
) -> None:
    (decoy,) = users_of(mariadb).decoys
    assert not decoy.matches(b"secret")
