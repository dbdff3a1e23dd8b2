"""Access rules on real sockets: Mosquitto's clients, and reloads with live connections."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.broker.access.passwords.file import set_password
from gateway.broker.access.rules.file import RulesFileError
from gateway.configuration import load
from tests.broker.server.ruled_broker import (
    PASSWORD,
    RULES,
    RuledBroker,
    answered,
    eventually,
    running,
)
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, acknowledgement, connect, publish, subscribe


@pytest_asyncio.fixture
async def broker(tmp_path: Path) -> AsyncIterator[RuledBroker]:
    async with running(tmp_path) as made:
        yield made


# -- Mosquitto's clients


@pytest.mark.parametrize("version", ["mqttv311", "mqttv5"])
async def test_mosquitto_pub_is_allowed_and_denied_as_its_version_states(
    broker: RuledBroker, version: str
) -> None:
    anna = await broker.log_in("anna", "watch")
    assert (await answered(anna, subscribe(1, ("shared/#", 1))))[-1] == 1
    code, _ = await broker.mosquitto(
        "mosquitto_pub", "ben", version, "-t", "shared/yes", "-m", "1", "-q", "1"
    )
    assert code == 0
    assert b"shared/yes" in await anna.packet()
    code, output = await broker.mosquitto(
        "mosquitto_pub", "ben", version, "-t", "shared/no", "-m", "2", "-q", "1"
    )
    assert ("not authorized" in output.lower()) == (version == "mqttv5"), output
    assert broker.errors == {"publish_not_authorized": 1}
    anna.send(publish("users/ben/x", b"no"))
    assert b"shared" not in await answered(anna, subscribe(2, ("users/ben/#", 1)))
    assert broker.shown("watch")["denials"] == 2
    assert broker.shown("watch")["username"] == "anna"
    await broker.mosquitto("mosquitto_pub", "ben", version, "-t", "shared/end", "-m", "3")
    assert b"shared/end" in await anna.packet(), "and nothing in between"


@pytest.mark.parametrize("version", ["mqttv311", "mqttv5"])
async def test_mosquitto_sub_is_allowed_and_denied(broker: RuledBroker, version: str) -> None:
    _, output = await broker.mosquitto(
        "mosquitto_sub", "ben", version, "-t", "users/anna/#", "-C", "1", "-W", "20"
    )
    assert "denied" in output.lower(), output
    assert broker.errors == {"subscribe_not_authorized": 1}
    publisher = await broker.log_in("ben", "publisher")
    publisher.send(publish("users/ben/x", b"kept", retain=True))
    code, output = await broker.mosquitto(
        "mosquitto_sub", "ben", version, "-t", "users/ben/#", "-C", "1", "-W", "20"
    )
    assert (code, output.strip()) == (0, "kept")


# -- rules that change while clients are connected


async def test_a_reload_narrows_what_live_clients_publish_and_receive(broker: RuledBroker) -> None:
    anna, ben = await broker.log_in("anna", "a"), await broker.log_in("ben", "b")
    await answered(anna, subscribe(1, ("shared/#", 0), ("$SYS/#", 0), ("users/anna/#", 0)))
    ben.send(publish("shared/x", b"1"))

    async def next_of(topic: str) -> bytes:
        while topic.encode() not in (packet := await anna.packet()):
            assert packet[0] >> 4 in (Kind.SUBACK, Kind.PUBLISH)
        return packet

    await next_of("shared/x")
    ben.send(publish("shared/x", b"2"))
    await next_of("shared/x")
    broker.rules.write_text(
        RULES.replace("allow user ben            publish,subscribe", "allow user ben subscribe")
    )
    assert broker.running.reloading.reload()["changed"] == ["access.rules_file"]
    ben.send(publish("shared/x", b"3"))
    await eventually(lambda: broker.errors == {"publish_not_authorized": 1})
    broker.rules.write_text(RULES.replace("anna           publish,subscribe", "anna publish"))
    broker.running.reloading.reload()
    ben.send(publish("shared/x", b"4"))
    await eventually(lambda: broker.errors.get("receive_not_authorized") == 1)
    broker.rules.write_text(RULES)
    broker.running.reloading.reload()
    ben.send(publish("shared/x", b"5"))
    assert (await next_of("shared/x")).endswith(b"5")


async def test_a_reload_reaches_stored_sessions_and_shared_subscriptions(
    broker: RuledBroker,
) -> None:
    ben = await broker.log_in("ben", "b")
    for client_id, topic_filter in (("own", "shared/#"), ("member", "$share/g/shared/#")):
        away = await broker.log_in("anna", client_id)
        await answered(away, subscribe(1, (topic_filter, 1)))
        away.abort()
    sessions = broker.running.event_loop.broker.state.sessions
    await eventually(lambda: all(sessions[each].connection is None for each in ("own", "member")))
    await answered(ben, publish("shared/x", b"1", qos=1, packet_id=1))
    assert (broker.queued("own"), broker.queued("member")) == (1, 1)
    broker.rules.write_text(RULES.replace("anna           publish,subscribe", "anna publish"))
    broker.running.reloading.reload()
    await answered(ben, publish("shared/x", b"2", qos=1, packet_id=2))
    await answered(ben, publish("shared/x", b"3", qos=2, packet_id=3))
    await answered(ben, acknowledgement(Kind.PUBREL, 3))
    assert (broker.queued("own"), broker.queued("member")) == (1, 1)
    again = await broker.log_in("anna", "own")
    again.send(b"\xc0\x00")
    assert (await again.packet())[0] == 0xD0, "what had waited is not handed out any more"
    assert broker.queued("own") == 0
    assert broker.running.event_loop.broker.statistics.dropped["refused"] == 1


async def test_a_connection_that_may_not_connect_any_more_is_ended(broker: RuledBroker) -> None:
    anna, ben = await broker.log_in("anna", "a", level=5), await broker.log_in("ben", "b", level=5)
    broker.rules.write_text("deny user ben connect\n" + RULES)
    broker.running.reloading.reload()
    farewell = await ben.rest()
    assert farewell[0] == 0xE0
    assert farewell[2] == 0x87
    anna.send(b"\xc0\x00")
    assert (await anna.packet())[0] == 0xD0


async def test_a_file_that_is_wrong_changes_nothing_and_states_why(
    broker: RuledBroker, caplog: pytest.LogCaptureFixture
) -> None:
    before = broker.running.reloading.rules
    ben = await broker.log_in("ben", "b")
    broker.rules.write_text("allow user ben publsh x\n")
    set_password(broker.users, "ben", b"other")
    with pytest.raises(RulesFileError, match=r'line 1: .*did you mean "publish"'):
        broker.running.reloading.reload()
    with caplog.at_level(logging.ERROR):
        os.kill(os.getpid(), signal.SIGHUP)
        await eventually(lambda: bool(caplog.messages))
    assert caplog.messages[0].startswith("the configuration stays as it was: ")
    assert broker.running.reloading.rules is before
    assert (await answered(ben, b"\xc0\x00"))[0] == 0xD0, "neither are the users replaced"


async def test_without_a_file_any_more_the_default_holds_and_it_comes_back(
    broker: RuledBroker,
) -> None:
    started = broker.running.reloading.configuration
    without = load(
        None,
        {},
        {
            "gateway.data_dir": started.gateway.data_dir,
            "listeners": [{"port": 0, "anonymous": False}],
            "access.password_file": broker.users,
            "mqtt.connect_timeout": f"{started.mqtt.connect_timeout:g}s",
        },
        None,
    )
    read, broker.running.reloading._read = broker.running.reloading._read, lambda: without
    answer = broker.running.reloading.reload()
    assert answer["changed"] == ["access.rules_file"]
    assert broker.running.reloading.rules is None, "on loopback everything is allowed"
    broker.running.reloading._read = read
    assert broker.running.reloading.reload()["changed"] == ["access.rules_file"]
    assert broker.running.reloading.rules is not None


async def test_a_client_id_that_is_bound_to_its_user_is_taken_by_no_other(
    broker: RuledBroker,
) -> None:
    """Without the rule, another user could occupy the client id of a user's device."""
    bound = "allow user * client %u connect\nallow user * client %u.* connect\n"
    broker.rules.write_text(bound + "deny user * connect\n" + RULES)
    broker.running.reloading.reload()
    for client_id in ("anna.attic", "anna", "attic"):
        assert await code_of(broker, "ben", client_id) == 5
    assert broker.errors == {"not_authorized": 3}
    await broker.log_in("anna", "anna.attic")
    await broker.log_in("ben", "ben")


async def code_of(broker: RuledBroker, user: str, client_id: str) -> int:
    """Connect before 5.0; return the return code of the CONNACK."""
    client = ByteClient(*await asyncio.open_connection("127.0.0.1", broker.port))
    async with client:
        client.send(connect(client_id, username=user, password=PASSWORD.encode()))
        return (await client.packet())[3]
