"""Sources of users that a reload adds, replaces and removes."""

from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.broker.wire.codes import FIRST_ERROR
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Publish
from tests.broker.server.reloading_broker import free_ports, reloading_broker
from tests.peers.byte_client import ByteClient


def users_in(path: Path, **passwords: bytes) -> Path:
    for name, password in passwords.items():
        set_password(path, name, password, scram_iterations=4_096)
    return path


async def reason_code_of_publish(client: ByteClient, topic: str) -> int:
    """Publish a retained message at QoS 1 with MQTT 5.0; return the reason code of its PUBACK."""
    client.send(encode(Publish(topic, b"x", 1, True, False, 1), 5))
    puback = await client.packet()
    return puback[4] if len(puback) > 4 else 0


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


@pytest.mark.parametrize(
    ("keys", "topic"),
    [
        ({"bridge__username": "other"}, "sensors/gps/latitude"),
        ({"alarms__topic": "plant/alarms"}, "alarms/disk_low"),
        ({"bridge__availability_topic": "plant/bridge"}, "state/bridge"),
        ({"bridge__home_assistant_prefix": None}, "homeassistant/device/gps/config"),
        ({"bridge__broker": "broker.example:1883"}, "sensors/gps/latitude"),
    ],
)
async def test_a_bridge_that_has_not_restarted_yet_keeps_its_rights(
    tmp_path: Path, keys: dict[str, str | None], topic: str
) -> None:
    (port,) = free_ports(1)
    users = users_in(tmp_path / "users", bridge=b"secret", other=b"secret", anna=b"secret")
    async with reloading_broker(
        tmp_path,
        listeners=[{"bind": "0.0.0.0", "port": port, "anonymous": False}],  # noqa: S104
        access__password_file=users,
        bridge__username="bridge",
        bridge__availability_topic="state/bridge",
        bridge__home_assistant_prefix="homeassistant",
    ) as broker:
        bridge = await broker.client(port, "b", user="bridge")
        anna = await broker.client(port, "a", user="anna")
        for change in (keys, {"mqtt__max_inflight": 7}):
            broker.reload(**change)
            assert await reason_code_of_publish(bridge, topic) < FIRST_ERROR
            assert await reason_code_of_publish(anna, topic) >= FIRST_ERROR
