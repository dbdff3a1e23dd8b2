"""Files named in `[access.jwt]` and `[access.mysql]` whose contents changed before a reload."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.passwords.file import set_password
from gateway.broker.access.users import queries as database_module
from gateway.broker.server.source_files import source_files_of, takes_keys_away
from gateway.configuration import Configuration, load
from tests.broker.server.reloading_broker import ReloadingBroker, free_ports, reloading_broker
from tests.peers.byte_client import ByteClient
from tests.peers.identity_provider import AUDIENCE, IdentityProvider, Signer, signer
from tests.peers.mariadb import PASSWORD, USER, MariaDB
from tests.peers.mqtt_bytes import connect

ISSUER = "https://login.example"


def write_keys(path: Path, *signers: Signer) -> None:
    path.write_text(json.dumps({"keys": [each.public for each in signers]}))


def jwt_of(path: Path) -> dict[str, Any]:
    return {"issuer": ISSUER, "audience": AUDIENCE, "jwks_file": str(path)}


def configured(**access: object) -> Configuration:
    return load(None, {}, {f"access.{name}": value for name, value in access.items()}, None)


def test_each_key_of_a_provider_s_file_is_known_and_only_one_that_is_gone_matters(
    tmp_path: Path,
) -> None:
    path = tmp_path / "keys.json"
    first, second = signer("first"), signer("second")
    found = []
    for signers in ((first,), (first, second), (second, first), (second,)):
        write_keys(path, *signers)
        found.append(source_files_of(configured(jwt=jwt_of(path))))
    assert found[0] != found[1] == found[2] != found[3]
    assert not takes_keys_away(found[0], found[1])
    assert takes_keys_away(found[1], found[3])
    path.unlink()
    assert source_files_of(configured(jwt=jwt_of(path))) == {"jwt": frozenset()}
    assert source_files_of(configured()) == {}


def test_a_password_and_authorities_are_compared_by_digests(tmp_path: Path) -> None:
    password, authorities = tmp_path / "password", tmp_path / "ca"
    mysql = {"server": "h:1", "user": "u", "database": "d"}
    mysql |= {"password_file": str(password), "ca": str(authorities)}
    found = []
    for of_password, of_authorities in (("a", "b"), ("c", "b"), ("b", "a"), ("a", "b")):
        password.write_text(of_password)
        password.chmod(0o600)
        authorities.write_text(of_authorities)
        found.append(source_files_of(configured(mysql=mysql)))
    assert found[0] == found[3]
    assert len({each["mysql"] for each in found}) == 3
    assert not takes_keys_away(found[0], found[1])


async def log_in(port: int, token: str, reason_code: int = 0) -> ByteClient:
    client = ByteClient(*await asyncio.open_connection("127.0.0.1", port))
    client.send(connect("c", username="u", password=token.encode(), level=5))
    assert (await client.packet())[3] == reason_code
    return client


async def test_a_key_counts_from_the_reload_on_and_one_that_is_gone_ends_who_it_proved(
    tmp_path: Path,
) -> None:
    (port,) = free_ports(1)
    keys, first, second = tmp_path / "keys.json", signer("first"), signer("second")
    provider = IdentityProvider()
    provider.stop()  # the provider only signs; its keys are in a file
    write_keys(keys, first)

    def token(by: Signer) -> str:
        return provider.token(by=by, iss=ISSUER)

    listeners = [{"port": port, "anonymous": False}]
    async with reloading_broker(tmp_path, listeners=listeners, access__jwt=jwt_of(keys)) as broker:
        client = await log_in(port, token(first))
        (await log_in(port, token(second), 0x87)).abort()
        assert broker.reload()["changed"] == []
        write_keys(keys, first, second)
        answer = broker.reload()
        assert (answer["changed"], answer["connections_ended"]) == (["access.jwt"], 0)
        await client.ping()
        keys.write_text("none")
        with pytest.raises(AccessFileError, match="jwks_file"):
            broker.reload()
        await client.ping()
        write_keys(keys, second)
        answer = broker.reload()
        assert (answer["changed"], answer["connections_ended"]) == (["access.jwt"], 1)
        assert (await client.packet())[2] == 0x87
        (await log_in(port, token(first), 0x87)).abort()
        (await log_in(port, token(second))).abort()


async def database_answers(broker: ReloadingBroker, port: int) -> bool:
    """Log in as a user that does not exist; return True if the database answered."""
    client = ByteClient(*await asyncio.open_connection("127.0.0.1", port))
    client.send(connect("x", username="nobody", password=b"x", level=5))
    code = (await client.packet())[3]
    client.abort()
    return code == 0x86


async def test_the_database_s_new_password_counts_from_the_reload_on_and_the_users_stay(
    tmp_path: Path, mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "DOWN_SECONDS", 60.0)
    await mariadb.execute(
        "CREATE OR REPLACE TABLE mqtt_user (username VARCHAR(9), password_hash VARCHAR(200))"
    )
    (port,) = free_ports(1)
    users, password, keys = tmp_path / "users", tmp_path / "password", tmp_path / "keys.json"
    for name in ("anna", "ben"):
        set_password(users, name, b"secret", scram_iterations=4_096)
    password.write_text("outdated\n")
    password.chmod(0o600)
    write_keys(keys, signer())
    mysql = {"socket": str(mariadb.socket), "user": USER, "database": "mqtt"}
    access = {
        "access__password_file": users,
        "access__jwt": jwt_of(keys),
        "access__mysql": mysql | {"password_file": str(password)},
    }
    async with reloading_broker(tmp_path, listeners=[{"port": port}], **access) as broker:
        anna = await broker.client(port, "a", user="anna")
        ben = await broker.client(port, "b", user="ben")
        assert not await database_answers(broker, port)
        before = broker.running.event_loop.authentications.sources
        password.write_text(f"{PASSWORD}\n")
        set_password(users, "ben", b"other", scram_iterations=4_096)
        answer = broker.reload()
        assert answer["changed"] == ["access.mysql", "access.password_file"]
        assert answer["connections_ended"] == 1, "of the user with another password alone"
        assert (await ben.packet())[2] == 0x87
        await anna.ping()
        assert await database_answers(broker, port), "though it was down a moment ago"
        after = broker.running.event_loop.authentications.sources
        same = {name: after[name] is before[name] for name in after}
        assert same == {"password_file": True, "jwt": True, "mysql": False}
