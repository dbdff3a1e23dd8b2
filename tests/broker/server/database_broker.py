"""A broker with users in a real MariaDB and in a password file."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import argon2

from gateway.broker.access.passwords.file import set_password
from gateway.broker.server.main import RunningBroker
from gateway.broker.wire.packets import Connack, Connect
from gateway.configuration import load
from tests.broker.server.event_loop.authenticating import Broker
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.mariadb import PASSWORD, USER, MariaDB
from tests.peers.packet_client import PacketClient

QUERY = "SELECT username, password_hash FROM devices WHERE username = ${username}"


def table_of(mariadb: MariaDB, folder: Path, **changes: Any) -> dict[str, Any]:
    password = folder / "database-password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    return {
        "server": f"127.0.0.1:{mariadb.port}",
        "user": USER,
        "database": "mqtt",
        "password_file": str(password),
        "query": QUERY,
    } | changes


@asynccontextmanager
async def database_broker(
    tmp_path: Path, mariadb: MariaDB, **changes: Any
) -> AsyncIterator[Broker]:
    """Start a broker with the user `device` in the database, and `local` in a file.

    `changes` are keys of `[access.mysql]`.
    """
    known = argon2.PasswordHasher(1, 8, 1).hash("of the database")
    await mariadb.execute(
        "CREATE OR REPLACE TABLE devices (username VARCHAR(100), password_hash VARCHAR(200))",
        f"INSERT INTO devices VALUES ('device', '{known}')",  # noqa: S608 - a hash of ours
    )
    passwords = tmp_path / "passwords"
    set_password(passwords, "local", b"secret")
    settings = {
        "gateway.data_dir": tmp_path / "data",
        "mqtt.connect_timeout": f"{DEADLINE_SECONDS:g}s",
        "access.password_file": passwords,
        "access.mysql": table_of(mariadb, tmp_path, **changes),
        "listeners": [{"port": 0, "anonymous": False}],
    }
    running = await RunningBroker.start(load(None, {}, settings, None), None)
    stop = asyncio.Event()
    ticking = asyncio.create_task(running.until(stop))
    yield Broker(running, passwords)
    stop.set()
    await ticking
    await running.stop()
    assert running.event_loop.committer.failure is None


def login(username: str, password: bytes) -> Connect:
    return Connect(5, username, True, 0, None, username, password)


async def code_of(client: PacketClient) -> int:
    connack = await client.receive()
    assert isinstance(connack, Connack)
    return connack.reason_code
