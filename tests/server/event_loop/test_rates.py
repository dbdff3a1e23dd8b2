"""A client that sends more than its rate allows is read from less often, and loses nothing."""

import pytest

from gateway.core.sessions import meter
from tests.peers.mqtt_bytes import PINGREQ, publish, subscribe
from tests.peers.websocket_client import BINARY, frame_of
from tests.server.broker import log_in, protocols_of
from tests.server.conftest import Start

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
