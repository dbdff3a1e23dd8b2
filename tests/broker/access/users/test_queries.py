"""Rows from a real MariaDB: values, limits, broken connections, and no connection at all."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gateway.broker.access.users import queries as database_module
from gateway.broker.access.users.queries import Database, DatabaseDown, Server
from tests.peers.mariadb import PASSWORD, USER, MariaDB

BY_NAME = "SELECT name, '100%%' AS percent FROM place WHERE name = %s"


@pytest_asyncio.fixture
async def table(mariadb: MariaDB) -> None:
    await mariadb.execute(
        "CREATE OR REPLACE TABLE place (name VARCHAR(100))",
        "INSERT INTO place VALUES ('cellar'), ('roof'), ('yard')",
    )


def server_of(mariadb: MariaDB, **changes: object) -> Server:
    values: dict[str, object] = {
        "socket": str(mariadb.socket),
        "user": USER,
        "password": PASSWORD,
        "database": "mqtt",
    }
    return Server(**(values | changes))  # type: ignore[arg-type]


@pytest_asyncio.fixture
async def database(mariadb: MariaDB, table: None) -> AsyncIterator[Database]:
    made = Database(server_of(mariadb), 5)
    yield made
    made.close()


async def test_a_value_is_never_a_part_of_the_statement(database: Database) -> None:
    assert await database.rows(BY_NAME, ("cellar",)) == [{"name": "cellar", "percent": "100%"}]
    for value in ("attic", "' OR 1=1 -- ", "\\' OR 1=1 -- ", "%", "\u00fc"):
        assert await database.rows(BY_NAME, (value,)) == []


async def test_the_server_sends_two_rows_at_most(database: Database) -> None:
    rows = await database.rows("SELECT name FROM place WHERE name <> %s", ("",))
    assert len(rows) == 2


async def test_a_database_is_found_on_tcp_as_well(mariadb: MariaDB, table: None) -> None:
    database = Database(server_of(mariadb, socket=None, host="127.0.0.1", port=mariadb.port), 5)
    assert len(await database.rows(BY_NAME, ("roof",))) == 1
    database.close()


async def test_tls_is_spoken_with_a_server_that_proves_who_it_is(
    mariadb: MariaDB, table: None
) -> None:
    tls = ssl.create_default_context(cafile=str(mariadb.ca))
    server = server_of(mariadb, socket=None, host="127.0.0.1", port=mariadb.port, tls=tls)
    database = Database(server, 5)
    (row,) = await database.rows("SHOW STATUS LIKE 'Ssl_version'", ())
    assert str(row["Value"]).startswith("TLSv1.")
    database.close()
    strangers = ssl.create_default_context()
    server = server_of(mariadb, socket=None, host="127.0.0.1", port=mariadb.port, tls=strangers)
    with pytest.raises(DatabaseDown):
        await Database(server, 5).rows(BY_NAME, ("roof",))


async def test_a_connection_that_the_server_ended_is_made_again(
    mariadb: MariaDB, database: Database
) -> None:
    (row,) = await database.rows("SELECT CONNECTION_ID() AS id, name FROM place LIMIT 1", ())
    await mariadb.execute(f"KILL {row['id']}")
    assert len(await database.rows(BY_NAME, ("roof",))) == 1
    assert database.failure is None


async def test_a_query_that_takes_too_long_ends_and_others_are_not_tried_for_a_while(
    mariadb: MariaDB, table: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(server_of(mariadb), 0.2)
    with pytest.raises(DatabaseDown, match="TimeoutError"):
        await database.rows("SELECT SLEEP(5)", ())
    began = asyncio.get_running_loop().time()
    with pytest.raises(DatabaseDown, match="TimeoutError"):
        await database.rows(BY_NAME, ("roof",))
    assert asyncio.get_running_loop().time() - began < 0.1, "it was not asked"
    monkeypatch.setattr(database_module, "DOWN_SECONDS", 0.0)
    with pytest.raises(DatabaseDown):
        await Database(server_of(mariadb, password="wrong"), 1).rows(BY_NAME, ("roof",))  # noqa: S106
    database.close()


async def test_a_value_that_the_server_refuses_keeps_no_other_out(database: Database) -> None:
    by_pattern = BY_NAME.replace("name = %s", "name REGEXP %s")
    with pytest.raises(DatabaseDown, match="missing closing parenthesis"):
        await database.rows(by_pattern, ("(",))
    assert len(await database.rows(by_pattern, ("^roof$",))) == 1
    with pytest.raises(DatabaseDown, match="Unknown column"):
        await database.rows("SELECT missing FROM place", ())
    assert len(await database.rows(BY_NAME, ("roof",))) == 1
    assert database.failure is None


async def test_it_is_asked_again_after_a_while(
    mariadb: MariaDB, table: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "DOWN_SECONDS", 0.0)
    database = Database(server_of(mariadb), 0.2)
    with pytest.raises(DatabaseDown, match="TimeoutError"):
        await database.rows("SELECT SLEEP(5)", ())
    assert len(await database.rows(BY_NAME, ("roof",))) == 1
    assert database.failure is None
    database.close()


async def test_connections_that_were_idle_for_too_long_are_not_used(
    mariadb: MariaDB, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = await database.rows("SELECT CONNECTION_ID() AS id", ())
    assert await database.rows("SELECT CONNECTION_ID() AS id", ()) == [before]
    monkeypatch.setattr(database_module, "IDLE_SECONDS_MAX", -1.0)
    assert await database.rows("SELECT CONNECTION_ID() AS id", ()) != [before]


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Server(user="u", password="secret", database="d"))  # noqa: S106
