"""Access rules on real sockets: Mosquitto's clients, and other rules under live connections."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.access.passwords import remove_user, set_password
from gateway.access.rules_file import RulesFileError
from gateway.configuration import load
from gateway.server.main import Running
from gateway.server.status.sessions import session_detail_of
from tests.server.client import DEADLINE_SECONDS, Client
from tests.system.mqtt_bytes import Kind, Will, acknowledgement, connect, publish, subscribe

PASSWORD = "secret"  # noqa: S105
RULES = """\
deny  user ben            publish           shared/no
allow user anna           publish,subscribe shared/# $SYS/#
allow user ben            publish,subscribe shared/#
allow user *              publish,subscribe users/%u/#
"""


class Broker:
    """A broker with the users anna and ben and a file of rules."""

    def __init__(self, running: Running, directory: Path) -> None:
        self.running = running
        self.rules, self.users = directory / "access.rules", directory / "passwords"
        self.port: int = running.listening.shown[0]["port"]
        self._clients: list[Client] = []

    @property
    def errors(self) -> dict[str, int]:
        return self.running.event_loop.broker.statistics.errors

    def shown(self, client_id: str) -> dict[str, object]:
        """What `oncegate ctl session` shows."""
        session = self.running.event_loop.broker.state.sessions[client_id]
        return session_detail_of(session, self.running.event_loop.wall_clock)

    def queued(self, client_id: str) -> int:
        return self.running.event_loop.broker.state.sessions[client_id].queued_count

    async def log_in(
        self, user: str, client_id: str, *, level: int = 4, will: Will | None = None
    ) -> Client:
        """Connect with a persistent session before 5.0."""
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port))
        self._clients.append(client)
        client.send(
            connect(
                client_id,
                clean=level == 5,
                username=user,
                password=PASSWORD.encode(),
                level=level,
                will=will,
            )
        )
        connack = await client.packet()
        assert connack[3] == 0
        return client

    async def mosquitto(
        self, program: str, user: str, version: str, *arguments: str
    ) -> tuple[int, str]:
        """Run one of Mosquitto's clients; its exit code and all that it printed."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-V", version, "-i", f"m-{program}"]
        process = await asyncio.create_subprocess_exec(
            program,
            *address,
            *("-u", user, "-P", PASSWORD, *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(DEADLINE_SECONDS):
            output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

    def cut(self) -> None:
        for client in self._clients:
            client.cut()


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Broker]:
    (directory / "access.rules").write_text(RULES)
    for user in ("anna", "ben"):
        set_password(directory / "passwords", user, PASSWORD.encode(), scram_iterations=4_096)

    def read() -> object:
        overrides = {
            "gateway.data_dir": directory / "data",
            "listeners": [{"port": 0, "anonymous": False}],
            "access.password_file": directory / "passwords",
            "access.rules_file": directory / "access.rules",
        }
        return load(None, {}, overrides, None)

    stop = asyncio.Event()
    made = await Running.start(read(), read)  # type: ignore[arg-type]
    upkeep = asyncio.create_task(made.until(stop))
    broker = Broker(made, directory)
    try:
        yield broker
        assert made.event_loop.committer.failure is None
    finally:
        broker.cut()
        stop.set()
        await upkeep
        await made.stop()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


@pytest_asyncio.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running(tmp_path) as made:
        yield made


async def eventually(question: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not question():  # noqa: ASYNC110 - the core has no event to wait for
            await asyncio.sleep(0.001)


async def answered(client: Client, data: bytes) -> bytes:
    client.send(data)
    return await client.packet()


# -- Mosquitto's clients


@pytest.mark.parametrize("version", ["mqttv311", "mqttv5"])
async def test_mosquitto_pub_is_allowed_and_denied_as_its_version_says(
    broker: Broker, version: str
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
async def test_mosquitto_sub_is_allowed_and_denied(broker: Broker, version: str) -> None:
    _, output = await broker.mosquitto(
        "mosquitto_sub", "ben", version, "-t", "users/anna/#", "-C", "1", "-W", "2"
    )
    assert "denied" in output.lower(), output
    assert broker.errors == {"subscribe_not_authorized": 1}
    publisher = await broker.log_in("ben", "publisher")
    publisher.send(publish("users/ben/x", b"kept", retain=True))
    code, output = await broker.mosquitto(
        "mosquitto_sub", "ben", version, "-t", "users/ben/#", "-C", "1", "-W", "5"
    )
    assert (code, output.strip()) == (0, "kept")


# -- other rules under live connections


async def test_a_reload_narrows_what_live_clients_publish_and_receive(broker: Broker) -> None:
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


async def test_a_reload_reaches_stored_sessions_and_shared_subscriptions(broker: Broker) -> None:
    ben = await broker.log_in("ben", "b")
    for client_id, topic_filter in (("own", "shared/#"), ("member", "$share/g/shared/#")):
        away = await broker.log_in("anna", client_id)
        await answered(away, subscribe(1, (topic_filter, 1)))
        away.cut()
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
    assert (await again.packet()).endswith(b"1"), "what had waited is delivered"


async def test_a_connection_that_may_not_connect_any_more_is_ended(broker: Broker) -> None:
    anna, ben = await broker.log_in("anna", "a", level=5), await broker.log_in("ben", "b", level=5)
    broker.rules.write_text("deny user ben connect\n" + RULES)
    broker.running.reloading.reload()
    farewell = await ben.rest()
    assert farewell[0] == 0xE0
    assert farewell[2] == 0x87
    anna.send(b"\xc0\x00")
    assert (await anna.packet())[0] == 0xD0


async def test_a_file_that_is_wrong_changes_nothing_and_says_why(
    broker: Broker, caplog: pytest.LogCaptureFixture
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


async def test_without_a_file_any_more_the_default_holds_and_it_comes_back(broker: Broker) -> None:
    started = broker.running.reloading.configuration
    without = load(
        None,
        {},
        {
            "gateway.data_dir": started.gateway.data_dir,
            "listeners": [{"port": 0, "anonymous": False}],
            "access.password_file": broker.users,
        },
        None,
    )
    read, broker.running.reloading._read = broker.running.reloading._read, lambda: without
    answer = broker.running.reloading.reload()
    assert answer == {"changed": ["access.rules_file"], "needs_restart": []}
    assert broker.running.reloading.rules is None, "on loopback everything is allowed"
    broker.running.reloading._read = read
    assert broker.running.reloading.reload()["changed"] == ["access.rules_file"]
    assert broker.running.reloading.rules is not None


# -- passwords


@pytest.mark.parametrize("is_removed", [True, False])
async def test_a_password_that_is_changed_or_removed_ends_its_user_s_connections(
    broker: Broker, is_removed: bool
) -> None:
    anna = await broker.log_in("anna", "watch")
    await answered(anna, subscribe(1, ("users/ben/#", 0), ("shared/#", 1)))
    will = Will("shared/gone", b"ben", 1)
    ben = await broker.log_in("ben", "b", level=5, will=will)
    stored = await broker.log_in("ben", "stored")
    await answered(stored, subscribe(1, ("shared/#", 1)))
    stored.cut()
    sessions = broker.running.event_loop.broker.state.sessions
    await eventually(lambda: sessions["stored"].connection is None)
    if is_removed:
        remove_user(broker.users, "ben")
    else:
        set_password(broker.users, "ben", b"other")
    assert broker.running.reloading.reload()["changed"] == ["access.password_file"]
    farewell = await ben.rest()
    assert farewell[2] == 0x87
    client = Client(*await asyncio.open_connection("127.0.0.1", broker.port))
    client.send(connect("b", username="ben", password=PASSWORD.encode()))
    assert (await client.packet())[3] != 0
    client.cut()
    if is_removed:
        assert broker.errors["will_not_authorized"] == 1
    else:
        assert b"shared/gone" in await anna.packet()
    before = broker.queued("stored")
    await answered(anna, publish("shared/x", b"1", qos=1, packet_id=9))
    assert broker.queued("stored") == before + (0 if is_removed else 1)
    if is_removed:
        set_password(broker.users, "ben", PASSWORD.encode())
        broker.running.reloading.reload()
        assert (await anna.packet())[0] >> 4 == Kind.PUBLISH
        await answered(anna, publish("shared/x", b"2", qos=1, packet_id=10))
        assert broker.queued("stored") == before + 1, "the user is back, and so are messages"


async def test_another_user_s_password_ends_nothing(broker: Broker) -> None:
    anna = await broker.log_in("anna", "a")
    set_password(broker.users, "ben", b"other")
    set_password(broker.users, "carl", b"new")
    broker.running.reloading.reload()
    assert (await answered(anna, b"\xc0\x00"))[0] == 0xD0


async def test_what_was_stored_for_a_user_that_went_while_the_broker_was_off_receives_nothing(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as broker:
        ben = await broker.log_in("ben", "stored")
        await answered(ben, subscribe(1, ("shared/#", 1)))
    remove_user(tmp_path / "passwords", "ben")
    users = (tmp_path / "passwords").read_bytes()
    async with running(tmp_path) as broker:
        (tmp_path / "passwords").write_bytes(users)
        broker.running.reloading.reload()
        anna = await broker.log_in("anna", "a")
        await answered(anna, publish("shared/x", b"1", qos=1, packet_id=1))
        assert broker.queued("stored") == 0
