"""The start of a connection: which CONNECT is accepted, and how every other CONNECT is answered."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.peers import mqtt_bytes
from tests.peers.mqtt_bytes import Kind, Will, connect, packet, string
from tests.system.broker_process import START_DEADLINE_SECONDS, BrokerProcess, oncegate_command
from tests.system.fixtures import running_broker
from tests.system.stage import Stage


@pytest.mark.statement("MQTT-3.1.4-4", "MQTT-3.2.0-1", "MQTT-3.2.2-1")
@pytest.mark.parametrize("level", [3, 4])
async def test_a_valid_connect_is_acknowledged_first_and_with_return_code_0(
    stage: Stage, level: int
) -> None:
    client = await stage.open()
    connack = await client.connect(stage.client_id("a"), level=level)
    assert connack.body == b"\x00\x00"
    await client.ping()


@pytest.mark.statement("MQTT-3.1.2-2", "MQTT-3.2.2-4", "MQTT-3.2.2-5")
@pytest.mark.parametrize("level", [0, 2, 6, 127])
async def test_an_unsupported_protocol_level_is_refused_with_0x01_and_closed(
    stage: Stage, level: int
) -> None:
    client = await stage.open()
    await client.send_all(connect(stage.client_id("a"), level=level))
    assert [each.body for each in await client.expect_closed()] == [b"\x00\x01"]


@pytest.mark.statement("MQTT-3.1.2-1")
@pytest.mark.parametrize("name", ["mqtt", "MQTTX", "HTTP", ""])
async def test_a_wrong_protocol_name_is_never_accepted(stage: Stage, name: str) -> None:
    client = await stage.open()
    await client.send_all(connect(stage.client_id("a"), name=name))
    assert all(each.return_code != 0 for each in await client.expect_closed())


@pytest.mark.statement("MQTT-3.1.3-5")
async def test_client_identifiers_of_23_letters_and_digits_are_accepted(stage: Stage) -> None:
    for client_id in ("0123456789abcdefghijklm", "NOPQRSTUVWXYZnopqrstuvw", "x"):
        for level in (3, 4):
            client = await stage.open()
            assert (await client.connect(client_id, level=level)).return_code == 0
            await client.disconnect()


@pytest.mark.statement("MQTT-3.1.3-6", "MQTT-3.1.3-2")
async def test_clients_without_an_identifier_are_each_given_one_of_their_own(stage: Stage) -> None:
    clients = [await stage.open() for _ in range(3)]
    for client in clients:
        assert (await client.connect("")).body == b"\x00\x00"
    for client in clients:
        await client.subscribe((stage.topic("all"), 0))
    await stage.deliver(stage.topic("all"), b"hello", qos=0)
    for client in clients:
        assert (await client.take()).payload == b"hello"


@pytest.mark.statement("MQTT-3.1.3-7", "MQTT-3.1.3-8", "MQTT-3.1.3-9", "MQTT-3.2.2-4")
async def test_an_empty_identifier_with_clean_session_0_is_refused_with_0x02(stage: Stage) -> None:
    client = await stage.open()
    await client.send_all(connect("", clean=False))
    assert [each.body for each in await client.expect_closed()] == [b"\x00\x02"]


@pytest.mark.parametrize("clean", [True, False])
async def test_an_empty_identifier_of_mqtt_3_1_is_refused_with_0x02(
    stage: Stage, clean: bool
) -> None:
    client = await stage.open()
    await client.send_all(connect("", clean=clean, level=3))
    assert [each.body for each in await client.expect_closed()] == [b"\x00\x02"]


@pytest.mark.statement("MQTT-3.1.0-1")
@pytest.mark.parametrize(
    "first",
    [
        mqtt_bytes.PINGREQ,
        mqtt_bytes.DISCONNECT,
        mqtt_bytes.publish("early", b"bird", retain=True),
        mqtt_bytes.subscribe(1, ("#", 0)),
        mqtt_bytes.acknowledgement(Kind.PUBREL, 1),
        packet(Kind.CONNACK, 0, b"\x00\x00"),
    ],
    ids=["pingreq", "disconnect", "publish", "subscribe", "pubrel", "connack"],
)
async def test_a_first_packet_that_is_no_connect_closes_without_an_answer(
    stage: Stage, first: bytes
) -> None:
    client = await stage.open()
    await client.send_all(first)
    assert await client.expect_closed() == []


@pytest.mark.statement("MQTT-3.1.0-2", "MQTT-4.8.0-1")
async def test_a_second_connect_is_a_protocol_error_that_closes_and_publishes_the_will(
    stage: Stage,
) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 1))
    client = await stage.client("twice", will=Will(stage.topic("will"), b"gone", qos=1))
    await client.send_all(connect(stage.client_id("twice")))
    assert await client.expect_closed() == []
    assert (await watcher.take()).payload == b"gone"


@pytest.mark.statement("MQTT-3.1.4-5")
async def test_what_follows_a_refused_connect_is_not_processed(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("news"), 0))
    client = await stage.open()
    await client.send_all(connect("", clean=False) + mqtt_bytes.publish(stage.topic("news"), b"no"))
    await client.expect_closed()
    await stage.deliver(stage.topic("news"), b"yes", qos=0)
    assert (await watcher.take()).payload == b"yes"


async def test_packets_sent_before_the_connack_is_awaited_are_processed(stage: Stage) -> None:
    client = await stage.open()
    await client.send_all(
        connect(stage.client_id("hasty"))
        + mqtt_bytes.subscribe(1, (stage.topic("mine"), 1))
        + mqtt_bytes.publish(stage.topic("mine"), b"fast", qos=1, packet_id=2)
    )
    await client.expect(Kind.CONNACK)
    await client.find(Kind.SUBACK, 1)
    await client.find(Kind.PUBACK, 2)
    assert (await client.take()).payload == b"fast"


def _connect_with(flags: int, *fields: bytes) -> bytes:
    header = string("MQTT") + bytes([4, flags]) + b"\x00\x00" + string("flags")
    return packet(Kind.CONNECT, 0, header + b"".join(fields))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            _connect_with(0x03),
            id="reserved flag",
            marks=pytest.mark.statement("MQTT-3.1.2-3", "MQTT-3.1.4-1", "MQTT-3.2.2-6"),
        ),
        pytest.param(
            _connect_with(0x0A),
            id="will QoS without will",
            marks=pytest.mark.statement("MQTT-3.1.2-11", "MQTT-3.1.2-13"),
        ),
        pytest.param(
            _connect_with(0x22),
            id="will retain without will",
            marks=pytest.mark.statement("MQTT-3.1.2-11", "MQTT-3.1.2-15"),
        ),
        pytest.param(
            _connect_with(0x1E, string("will"), string("gone")),
            id="will QoS 3",
            marks=pytest.mark.statement("MQTT-3.1.2-14"),
        ),
        pytest.param(
            _connect_with(0x06),
            id="will flag without will",
            marks=pytest.mark.statement("MQTT-3.1.2-9"),
        ),
        pytest.param(
            _connect_with(0x06, string("will/+"), string("gone")),
            id="wildcard in will topic",
            marks=pytest.mark.statement("MQTT-3.1.3-10"),
        ),
        pytest.param(
            _connect_with(0x06, string(b"\xff\xfe"), string("gone")),
            id="will topic not UTF-8",
            marks=pytest.mark.statement("MQTT-3.1.3-10"),
        ),
        pytest.param(
            _connect_with(0x42, string("secret")),
            id="password without user name",
            marks=pytest.mark.statement("MQTT-3.1.2-22"),
        ),
        pytest.param(
            _connect_with(0x82),
            id="user name flag without user name",
            marks=pytest.mark.statement("MQTT-3.1.2-19"),
        ),
        pytest.param(
            _connect_with(0x02, string("user")),
            id="user name without its flag",
            marks=pytest.mark.statement("MQTT-3.1.2-18"),
        ),
        pytest.param(
            _connect_with(0x82, string("user"), string("secret")),
            id="password without its flag",
            marks=pytest.mark.statement("MQTT-3.1.2-20"),
        ),
        pytest.param(
            _connect_with(0xC2, string("user")),
            id="password flag without password",
            marks=pytest.mark.statement("MQTT-3.1.2-21"),
        ),
        pytest.param(
            _connect_with(0x82, string(b"\xc3\x28")),
            id="user name not UTF-8",
            marks=pytest.mark.statement("MQTT-3.1.3-11"),
        ),
        pytest.param(
            connect(b"bad\xed\xa0\x80"),
            id="surrogate in client identifier",
            marks=pytest.mark.statement("MQTT-3.1.3-4", "MQTT-1.5.3-1"),
        ),
        pytest.param(
            connect(b"bad\x00"),
            id="U+0000 in client identifier",
            marks=pytest.mark.statement("MQTT-1.5.3-2"),
        ),
        pytest.param(
            packet(Kind.CONNECT, 0, string("MQTT") + b"\x04\x02\x00\x00"),
            id="no client identifier",
            marks=pytest.mark.statement("MQTT-3.1.3-3", "MQTT-3.1.3-1"),
        ),
        pytest.param(
            packet(Kind.CONNECT, 1, string("MQTT") + b"\x04\x02\x00\x00" + string("a")),
            id="fixed header flags",
            marks=pytest.mark.statement("MQTT-2.2.2-1", "MQTT-2.2.2-2"),
        ),
    ],
)
async def test_a_connect_against_the_standard_is_closed_without_a_connack(
    stage: Stage, wrong: bytes
) -> None:
    client = await stage.open()
    await client.send_all(wrong)
    assert await client.expect_closed() == []


@pytest.fixture(scope="module")
def password_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Run a broker with one user: `alice` with the password `correct horse`."""
    passwords = tmp_path_factory.mktemp("access") / "passwords"
    subprocess.run(
        [*oncegate_command(), "passwd", str(passwords), "alice", "--password-stdin"],
        input=b"correct horse\n",
        check=True,
        timeout=START_DEADLINE_SECONDS,
    )
    with running_broker(
        f'[access]\npassword_file = "{passwords}"', listener_settings="anonymous = false"
    ) as broker:
        yield broker


@pytest.mark.statement("MQTT-3.2.2-4", "MQTT-3.2.2-5")
@pytest.mark.parametrize(
    ("username", "password", "return_code"),
    [
        ("alice", b"correct horse", 0),
        ("alice", b"wrong", 4),
        ("alice", b"", 4),
        ("alice", None, 4),
        ("nobody", b"correct horse", 4),
        (None, None, 5),
    ],
)
async def test_only_a_known_user_with_the_right_password_is_accepted(
    password_broker: BrokerProcess,
    username: str | None,
    password: bytes | None,
    return_code: int,
) -> None:
    async with Stage(password_broker, prefix="access") as stage:
        client = await stage.open()
        connack = await client.connect("a", username=username, password=password)
        assert (connack.session_present, connack.return_code) == (False, return_code)
        if return_code:
            assert await client.expect_closed() == []
        else:
            await client.ping()
