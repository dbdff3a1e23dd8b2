"""Sources of users that a reload adds, replaces and removes."""

from pathlib import Path

from gateway.broker.access.passwords.file import set_password
from tests.broker.server.reloading_broker import free_ports, reloading_broker


def users_in(path: Path, **passwords: bytes) -> Path:
    for name, password in passwords.items():
        set_password(path, name, password, scram_iterations=4_096)
    return path


async def test_users_that_are_introduced_have_to_prove_their_names(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    users = users_in(tmp_path / "users", anna=b"secret")
    async with reloading_broker(tmp_path, listeners=[{"port": port}]) as broker:
        claims = await broker.client(port, "claims", user="ben")
        nameless = await broker.client(port, "nameless")
        answer = broker.reload(access__password_file=users)
        assert answer["changed"][0] == "access.password_file"
        assert answer["connections_ended"] == 1
        assert (await claims.packet())[2] == 0x87
        await nameless.ping()
        await broker.client(port, "a", user="anna")
        await broker.client(port, "b", user="ben", reason_code=0x86)
        assert broker.running.event_loop.authentications.methods == ["SCRAM-SHA-256"]
        again = broker.reload(access__password_file=None)
        assert again["connections_ended"] == 0, "nothing more is asked of anyone"
        await broker.client(port, "b", user="ben")


async def test_another_path_ends_those_whose_password_is_another_there(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    first = users_in(tmp_path / "first", anna=b"secret")
    other = tmp_path / "other"
    other.touch(0o600)
    other.write_bytes(first.read_bytes())
    users_in(first, ben=b"secret")
    users_in(other, ben=b"changed", cleo=b"secret")
    async with reloading_broker(
        tmp_path, listeners=[{"port": port}], access__password_file=first
    ) as broker:
        anna = await broker.client(port, "a", user="anna")
        ben = await broker.client(port, "b", user="ben")
        answer = broker.reload(access__password_file=other)
        assert answer["changed"] == ["access.password_file"]
        assert answer["connections_ended"] == 1
        assert (await ben.packet())[2] == 0x87
        await anna.ping()
        await broker.client(port, "c", user="cleo")
