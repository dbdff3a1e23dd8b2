"""A client that exceeds its rate is read from less often, and loses nothing."""

import pytest

from gateway.broker.core.sessions import meter
from gateway.broker.server.listeners.address_limits import AddressSettings
from tests.broker.server.broker import log_in, protocols_of
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import PINGREQ, connect, publish, subscribe
from tests.peers.websocket_client import BINARY, PING, frame_of

PINGRESP = b"\xd0\x00"


@pytest.mark.parametrize(
    ("rates", "reason"),
    [({"max_packet_rate": 100}, "max_packet_rate"), ({"max_byte_rate": "1000B"}, "max_byte_rate")],
)
@pytest.mark.parametrize("protocol", ["mqtt", "websocket"])
async def test_a_client_that_sends_more_than_its_rate_is_read_from_later_and_loses_nothing(
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    rates: dict[str, object],
    reason: str,
) -> None:
    monkeypatch.setattr(meter, "BURST_SECONDS", 0.5)
    broker = await start({"protocol": protocol, **rates}, {"protocol": "mqtt"})
    watch = await broker.open(1)
    assert await watch.log_in("watch") == 0
    watch.send(subscribe(1, ("t", 0)))
    await watch.packet()
    client = await broker.open(0)
    messages = [publish("t", b"%03d" % number) for number in range(75)]
    if protocol == "websocket":
        assert await client.connect_in_frames("c") == 0
        client.send(frame_of(BINARY, b"".join(messages)))
    else:
        assert await client.log_in("c") == 0
        client.send(b"".join(messages))
    channel = protocols_of(broker)["c"]
    await broker.eventually(lambda: channel.throttled)
    assert not channel.transport.is_reading()
    assert broker.errors == {reason: 1}
    assert [await watch.packet() for _ in messages] == messages
    await broker.eventually(channel.transport.is_reading)
    assert not channel.throttled
    statistics = broker.running.event_loop.broker.statistics
    assert statistics.clients_connected == 2


async def test_a_client_within_its_rate_notices_nothing(start: Start) -> None:
    broker = await start({"max_packet_rate": 1_000, "max_byte_rate": "1MiB"})
    client = await log_in(broker, "c")
    for _ in range(20):
        client.send(PINGREQ)
        assert await client.packet() == PINGRESP
    assert broker.errors == {}


async def test_a_client_that_leaves_while_it_is_not_read_from_leaves_nothing_behind(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "BURST_SECONDS", 0.1)
    broker = await start({"max_packet_rate": 20})
    client = await log_in(broker, "c")
    client.send(PINGREQ * 10)
    channel = protocols_of(broker)["c"]
    await broker.eventually(lambda: channel.throttled)
    client.abort()
    await broker.eventually(lambda: not channel.throttled)
    await broker.eventually(lambda: not broker.running.event_loop.channels)


PROXY = {"proxy_protocol": True, "allow_anonymous_network": True}


@pytest.mark.parametrize(
    ("listener", "settings", "reason"),
    [
        ({"packet_rate": 50}, AddressSettings(0, 0), "listener_packet_rate"),
        ({"byte_rate": "500B"}, AddressSettings(0, 0), "listener_byte_rate"),
        ({}, AddressSettings(0, 0, packet_rate=50), "max_packet_rate_per_address"),
        ({}, AddressSettings(0, 0, byte_rate=500), "max_byte_rate_per_address"),
    ],
)
async def test_clients_of_a_listener_or_an_address_share_a_rate_and_lose_nothing(
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    listener: dict[str, object],
    settings: AddressSettings,
    reason: str,
) -> None:
    monkeypatch.setattr(meter, "BURST_SECONDS", 0.5)
    broker = await start({**PROXY, **listener}, {"protocol": "mqtt"})
    broker.running.listening.addresses.replace_settings(settings, 0.0)
    watch = await broker.open(1)
    assert await watch.log_in("watch") == 0
    watch.send(subscribe(1, ("t", 0)))
    await watch.packet()
    clients = [await broker.open() for _ in range(3)]
    for number, client in enumerate(clients):
        client.send(b"PROXY TCP4 192.0.2.7 10.0.0.1 40000 1883\r\n" + connect(f"c{number}"))
        assert (await client.packet())[3] == 0
    messages = [publish("t", b"%03d" % number) for number in range(45)]
    for number, client in enumerate(clients):
        client.send(b"".join(messages[number::3]))
    assert sorted([await watch.packet() for _ in messages]) == messages
    assert set(broker.errors) == {reason}
    others = await broker.open()
    others.send(b"PROXY TCP4 192.0.2.8 10.0.0.1 40000 1883\r\n" + connect("other"))
    assert (await others.packet())[3] == 0
    (channel,) = [each for name, each in protocols_of(broker).items() if name == "other"]
    is_of_listener = reason.startswith("listener")
    assert bool(channel.connection.meters) is (is_of_listener or bool(settings.limits_clients))
    assert channel.throttled is is_of_listener
    assert broker.status()["errors"][reason] == broker.errors[reason]


async def test_sessions_of_an_address_and_of_a_listener_are_bounded_and_others_come_in(
    start: Start,
) -> None:
    broker = await start({**PROXY}, {"protocol": "mqtt", "sessions": 1, "login_rate": 1})
    broker.running.listening.addresses.replace_settings(AddressSettings(0, 0, sessions_max=2), 0.0)
    codes: list[int] = []
    for address, number in ((7, 0), (7, 1), (7, 2), (8, 3), (7, 0)):
        client = await broker.open()
        header = b"PROXY TCP4 192.0.2.%d 10.0.0.1 40000 1883\r\n" % address
        client.send(header + connect(f"c{number}", clean=False))
        codes.append((await client.packet())[3])
        client.cut()
    assert codes == [0, 0, 3, 0, 0], "a session that exists comes back"
    for number, code in enumerate((0, 3)):
        assert await (await broker.open(1)).log_in(f"d{number}", clean=False) == code
    for _ in range(8):
        assert await (await broker.open(1)).log_in("d0", clean=False) == 0
    assert await (await broker.open(1)).log_in("d0", clean=False) == 3
    assert broker.errors == {
        "max_sessions_per_address": 1,
        "listener_sessions": 1,
        "listener_login_rate": 1,
        "client_id_shared": 8,
    }


@pytest.mark.parametrize(
    ("kind", "payload"),
    [(PING, b"x"), (PING, bytes(100)), (BINARY, b"")],
    ids=["short pings", "long pings", "empty frames"],
)
@pytest.mark.parametrize("rates", [{"max_packet_rate": 50}, {"max_byte_rate": "300B"}])
async def test_frames_without_mqtt_count_as_packets(
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    rates: dict[str, object],
    kind: int,
    payload: bytes,
) -> None:
    monkeypatch.setattr(meter, "BURST_SECONDS", 0.5)
    broker = await start({"protocol": "websocket", **rates}, {"protocol": "mqtt"})
    client = await broker.open()
    assert await client.connect_in_frames("c") == 0
    frame = len(frame_of(kind, payload))
    client.send(frame_of(kind, payload) * (60 if "max_packet_rate" in rates else 700 // frame))
    channel = protocols_of(broker)["c"]
    await broker.eventually(lambda: channel.throttled)
    assert not channel.transport.is_reading()
    assert set(broker.errors) == set(rates)
    await broker.eventually(lambda: not channel.throttled)
    client.send(frame_of(BINARY, PINGREQ))
    assert channel.connection.is_open
