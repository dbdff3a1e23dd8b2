"""A stranger on the network attacks a listener with users and otherwise default settings.

Each attack runs over a socket: without a user, with a guessed password, and as an existing user.
A PROXY header makes the broker see an address on the network.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.broker.access.passwords.file import set_password
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)
from tests.broker.server.broker import Broker, running
from tests.peers.mqtt_bytes import Kind, Will, acknowledgement, connect, packet, publish, subscribe
from tests.peers.packet_client import PacketClient
from tests.peers.websocket_client import WebSocketClient

NETWORK = {"proxy_protocol": True, "anonymous": False}
INSIDE = {"bind": "127.0.0.2"}
PASSWORD = b"secret"
FROM_ELSEWHERE = b"PROXY TCP4 192.0.2.7 192.0.2.1 50000 1883\r\n"
NOT_AUTHORISED, BAD_USER_NAME_OR_PASSWORD = 5, 4
REFUSED = 0x80


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one password file for all tests, because hashing a password is slow."""
    made = tmp_path_factory.mktemp("stranger") / "users"
    for name in ("mallory", "anna"):
        set_password(made, name, PASSWORD)
    return made


@pytest_asyncio.fixture
async def broker(tmp_path: Path, users: Path) -> AsyncIterator[Broker]:
    begun = asynccontextmanager(running)(tmp_path / "d", [NETWORK, INSIDE], {}, users)
    async with begun as broker:
        yield broker


async def stranger(broker: Broker) -> WebSocketClient:
    client = await broker.open(0)
    client.send(FROM_ELSEWHERE)
    return client


async def mallory(
    broker: Broker, client_id: str = "m", *, clean: bool = True, will: Will | None = None
) -> tuple[WebSocketClient, int]:
    """Connect as the existing user mallory; return the client and the return code."""
    client = await stranger(broker)
    client.send(connect(client_id, clean=clean, username="mallory", password=PASSWORD, will=will))
    return client, (await client.packet())[3]


async def inside(broker: Broker, client_id: str, *topics: str) -> WebSocketClient:
    """Connect a client on this machine, as the bridge is, and subscribe to the topics."""
    client = await broker.open(1)
    client.send(connect(client_id, clean=False))
    await client.packet()
    if topics:
        client.send(subscribe(1, *((topic, 2) for topic in topics)))
        await client.packet()
    return client


@pytest.mark.parametrize(
    ("tried", "code"),
    [
        (connect("x"), NOT_AUTHORISED),
        (connect("x", clean=False), NOT_AUTHORISED),
        (connect("x", username="anna"), BAD_USER_NAME_OR_PASSWORD),
        (connect("x", username="anna", password=b"guess"), BAD_USER_NAME_OR_PASSWORD),
        (connect("x", username="nobody", password=b"guess"), BAD_USER_NAME_OR_PASSWORD),
        (connect("x", username="oncegate-bridge", password=b""), BAD_USER_NAME_OR_PASSWORD),
    ],
)
async def test_without_a_password_no_connect_is_accepted_and_no_session_is_left(
    broker: Broker, tried: bytes, code: int
) -> None:
    client = await stranger(broker)
    client.send(tried)
    assert (await client.packet())[3] == code
    assert await client.rest() == b""
    assert broker.status()["sessions"]["total"] == 0


@pytest.mark.parametrize(
    "tried",
    [
        publish("sensors/a/b", b"forged", qos=1, packet_id=1),
        subscribe(1, ("#", 0)),
        packet(Kind.PINGREQ, 0),
        b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        bytes(64),
    ],
)
async def test_before_a_connect_nothing_is_answered(broker: Broker, tried: bytes) -> None:
    client = await stranger(broker)
    client.send(tried)
    assert await client.rest() == b""


async def test_a_connection_without_a_word_is_ended(broker: Broker) -> None:
    broker.running.event_loop.limits.connect_timeout_seconds = 0.2
    silent, half = await broker.open(0), await stranger(broker)
    half.send(b"\x10")
    assert await silent.rest() == b""
    assert await half.rest() == b""


@pytest.mark.parametrize(
    "topic", ["sensors/a/b", "users/anna/x", "oncegate-health/x", "x", "$SYS/x"]
)
async def test_a_user_reaches_no_topic_but_its_own(broker: Broker, topic: str) -> None:
    witness = await inside(broker, "witness", "#")
    client, code = await mallory(broker)
    assert code == 0
    client.send(publish(topic, b"forged", qos=1, packet_id=1, retain=True))
    await client.packet()
    client.send(publish("users/mallory/x", b"own", qos=1, packet_id=2))
    await client.packet()
    assert b"own" in await witness.packet(), "and nothing before it"
    assert list(broker.running.event_loop.broker.state.retained) == []


async def test_a_will_reaches_no_topic_but_its_user_s(broker: Broker) -> None:
    _, code = await mallory(broker, will=Will("sensors/a/b", b"forged", 1, True))
    assert code == NOT_AUTHORISED


@pytest.mark.parametrize(
    "topic_filter",
    ["#", "+/#", "users/#", "users/anna/#", "users/+/x", "$SYS/#", "$share/g/users/anna/#"],
)
async def test_a_user_reads_no_other_user_s_topics(broker: Broker, topic_filter: str) -> None:
    client, _ = await mallory(broker)
    client.send(subscribe(1, (topic_filter, 2)))
    assert (await client.packet())[-1] == REFUSED
    assert broker.running.event_loop.broker.state.sessions["m"].subscriptions == {}


async def test_a_user_takes_over_no_session_of_another_or_of_a_program_here(
    broker: Broker,
) -> None:
    program = await inside(broker, "bridge", "users/mallory/#")
    for clean in (True, False):
        _, code = await mallory(broker, "bridge", clean=clean)
        assert code == NOT_AUTHORISED
    sender, _ = await mallory(broker)
    sender.send(publish("users/mallory/x", b"1", qos=1, packet_id=1))
    assert await sender.packet() == acknowledgement(Kind.PUBACK, 1)
    assert b"1" in await program.packet(), "it is still connected"


@pytest.mark.parametrize("version", [4, 5])
async def test_a_user_takes_no_messages_out_of_another_user_s_group(
    broker: Broker, version: int
) -> None:
    members = [await member(broker, user, version) for user in ("mallory", "anna")]
    bridge = await inside(broker, "bridge")
    sent = [b"%d" % number for number in range(6)]
    for payload in sent:
        bridge.send(publish("sensors/a/b", payload))
    for each in members:
        received = [await each.receive() for _ in sent]
        assert [got.payload for got in received if isinstance(got, Publish)] == sent


async def member(broker: Broker, user: str, version: int) -> PacketClient:
    """Connect as a user and join the shared subscription `workers`."""
    client = await broker.open_packets(version)
    client.send_bytes(FROM_ELSEWHERE)
    client.send(Connect(version, user, True, 0, None, user, PASSWORD))
    client.send(Subscribe(1, [Subscription("$share/workers/sensors/#", 0)]))
    assert isinstance(await client.receive(), Connack)
    suback = await client.receive()
    assert isinstance(suback, Suback)
    assert suback.reason_codes == [0]
    return client


@pytest.mark.parametrize("level", [3, 4, 5])
@pytest.mark.parametrize("clean", [True, False])
async def test_a_user_takes_no_client_id_of_another_user_by_default(
    broker: Broker, level: int, clean: bool
) -> None:
    core = broker.running.event_loop.broker
    anna = await stranger(broker)
    anna.send(connect("device", clean=clean, username="anna", password=PASSWORD))
    assert (await anna.packet())[3] == 0
    anna.send(subscribe(1, ("users/anna/#", 1)))
    await anna.packet()
    for tried_clean in (True, False):
        assert await code_of_mallory(broker, level, clean=tried_clean) == refusal_at(level)
    anna.send(publish("users/anna/x", b"1", qos=1, packet_id=2))
    assert {(await anna.packet())[0] >> 4 for _ in range(2)} == {Kind.PUBLISH, Kind.PUBACK}
    anna.cut()
    if clean:
        await broker.eventually(lambda: "device" not in core.state.sessions)
    else:
        session = core.state.sessions["device"]
        await broker.eventually(lambda: session.connection is None)
        for tried_clean in (True, False):
            assert await code_of_mallory(broker, level, clean=tried_clean) == refusal_at(level)
        assert core.state.sessions["device"] is session
        assert len(session.outbound) == 1, "what anna has not acknowledged stays hers"
        core.drop_session(session, 0.0)  # like `oncegate ctl drop device`
        broker.running.event_loop.schedule()
    assert await code_of_mallory(broker, level, clean=True) == 0, "the id is free"


async def code_of_mallory(broker: Broker, level: int, *, clean: bool) -> int:
    """Try to connect with the client id `device`; return the return code or reason code."""
    client = await stranger(broker)
    client.send(connect("device", clean=clean, username="mallory", password=PASSWORD, level=level))
    return (await client.packet())[3]


def refusal_at(level: int) -> int:
    return 0x87 if level == 5 else NOT_AUTHORISED


async def test_a_user_that_asks_for_too_much_costs_itself_only(broker: Broker) -> None:
    client, _ = await mallory(broker)
    client.send(b"\x30\xff\xff\xff\x7f" + bytes(100_000))
    assert await client.rest() == b""
    assert broker.errors["packet_too_large"] == 1
    other, code = await mallory(broker)
    other.send(packet(Kind.PINGREQ, 0))
    assert code == 0
    assert await other.packet() == packet(Kind.PINGRESP, 0)
