"""A broker with users in a real MariaDB and in a password file."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import argon2
import pytest
import pytest_asyncio

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.users import queries as database_module
from gateway.broker.server.control.refused import Refused
from gateway.broker.server.starting import other_sources_of
from gateway.configuration import Configuration, load
from tests.broker.server.database_broker import QUERY, code_of, database_broker, login, table_of
from tests.broker.server.event_loop.authenticating import Broker
from tests.peers.mariadb import MariaDB

SLOW_QUERY = (
    "SELECT GET_LOCK('slow', 60), username, password_hash FROM devices WHERE username = ${username}"
)


@pytest_asyncio.fixture
async def broker(
    tmp_path: Path, mariadb: MariaDB, request: pytest.FixtureRequest
) -> AsyncIterator[Broker]:
    async with database_broker(tmp_path, mariadb, **getattr(request, "param", {})) as made:
        yield made


async def outcome(broker: Broker, username: str, password: bytes) -> int:
    async with await broker.open() as client:
        client.send(login(username, password))
        return await code_of(client)


async def test_users_of_the_database_and_of_the_file_are_let_in(broker: Broker) -> None:
    assert await outcome(broker, "device", b"of the database") == 0
    assert await outcome(broker, "device", b"wrong") == 0x86
    assert await outcome(broker, "local", b"secret") == 0
    assert await outcome(broker, "nobody", b"secret") == 0x86


@pytest.mark.parametrize(
    "broker", [{"query": SLOW_QUERY, "connections": 1, "timeout": "60s"}], indirect=True
)
async def test_a_slow_database_keeps_no_user_of_the_file_waiting(
    broker: Broker, mariadb: MariaDB
) -> None:
    clients = [await broker.open() for _ in range(3)]
    async with mariadb.locked("slow"):
        for client in clients:
            client.send(login("device", b"of the database"))
        assert await outcome(broker, "local", b"secret") == 0
        waiting = asyncio.create_task(code_of(clients[0]))
        await asyncio.sleep(0)
        assert not waiting.done(), "the database had not answered"
    assert await waiting == 0
    for client in clients:
        client.cut()


@pytest.mark.parametrize("broker", [{"database": "missing"}], indirect=True)
async def test_a_database_that_is_down_is_counted_and_the_client_may_try_again(
    broker: Broker,
) -> None:
    assert await outcome(broker, "device", b"of the database") == 0x88
    assert await outcome(broker, "local", b"secret") == 0
    assert broker.errors == {"users_unavailable": 1}
    (problem,) = broker.running.event_loop.authentications.problems
    assert problem.startswith("the database of users: OperationalError")


@pytest.mark.parametrize("broker", [{"database": "missing", "when_down": "next"}], indirect=True)
async def test_where_it_is_said_so_the_next_source_is_asked(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "DOWN_SECONDS", 0.0)
    assert await outcome(broker, "device", b"of the database") == 0x86


PERSON = {"username": "DEVICE", "address": "192.0.2.7:40000", "source": "mysql"}
PASSWORD_AT_PAGE = PERSON | {"password": "of the database"}
GROUPS_QUERY = QUERY.replace(" FROM", ", user_groups FROM")


@pytest.mark.parametrize("broker", [{"cache": "0s", "query": GROUPS_QUERY}], indirect=True)
async def test_a_person_at_the_page_is_noticed_as_changed_and_as_gone(
    broker: Broker, mariadb: MariaDB
) -> None:
    await mariadb.execute("ALTER TABLE devices ADD COLUMN user_groups VARCHAR(100)")
    people = broker.running.control.logins
    found = await people.authenticate(PASSWORD_AT_PAGE)
    assert (found["username"], found["source"], found["groups"]) == ("device", "mysql", [])
    versions = [found["version"]]
    assert await people.user(PERSON) == {"version": versions[0]}
    known = argon2.PasswordHasher(1, 8, 1).hash("of the database")
    for change in ("user_groups = 'house'", f"password_hash = '{known}'"):
        await mariadb.execute(f"UPDATE devices SET {change}")  # noqa: S608 - values of ours
        versions.append((await people.user(PERSON))["version"])
    assert len({*versions, None}) == 4, "each change has another version"
    assert (await people.authenticate(PASSWORD_AT_PAGE))["groups"] == ["house"]
    await mariadb.execute("UPDATE devices SET password_hash = 'x'")
    assert await people.user(PERSON) == {"version": None}, "a row that cannot be a user"
    await mariadb.execute("DELETE FROM devices")
    assert await people.user(PERSON) == {"version": None}


@pytest.mark.parametrize("broker", [{"database": "missing"}], indirect=True)
async def test_a_person_is_not_judged_while_the_database_does_not_answer(broker: Broker) -> None:
    people = broker.running.control.logins
    with pytest.raises(Refused, match="the database of users") as refused:
        await people.authenticate(PASSWORD_AT_PAGE)
    assert refused.value.code == "unavailable"
    with pytest.raises(Refused) as refused:
        await people.user(PERSON)
    assert refused.value.code == "unavailable"


def configured(mariadb: MariaDB, folder: Path, **changes: Any) -> Configuration:
    return load(None, {}, {"access.mysql": table_of(mariadb, folder, **changes)}, None)


def test_files_that_cannot_be_used_are_refused_before_the_start(
    tmp_path: Path, mariadb: MariaDB
) -> None:
    empty, missing, binary = tmp_path / "empty", tmp_path / "missing", tmp_path / "binary"
    empty.write_text("\n")
    binary.write_bytes(b"\xff\n")
    exposed = tmp_path / "exposed"
    exposed.write_text("the database's\n")
    exposed.chmod(0o644)
    for closed in (empty, binary):
        closed.chmod(0o600)
    for changes, reason in (
        ({"password_file": str(missing)}, "password_file: .*No such file"),
        ({"password_file": str(exposed)}, "password_file: .*mode 0644 .*Run chmod 600"),
        ({"password_file": str(empty)}, "password_file: .*expected a first line"),
        ({"password_file": str(binary)}, "password_file: .*is not UTF-8"),
        ({"ca": str(missing)}, "ca: .*no certificates"),
    ):
        with pytest.raises(AccessFileError, match=rf"\[access.mysql\] {reason}"):
            other_sources_of(configured(mariadb, tmp_path, **changes))
