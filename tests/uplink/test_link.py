"""The session of one side: its owner, its subscriptions, and the messages that arrive."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.broker.wire.packets import (
    Properties,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from gateway.process.mqtt_client.session_name import is_name_of
from gateway.uplink import committer, link, reception
from gateway.uplink.hops import HOPS_PROPERTY
from gateway.uplink.reception import Arrival
from gateway.uplink.routes import Side
from gateway.uplink.settlement import Arrived
from tests.bridge.silent_broker import SilentBroker
from tests.uplink.bench import DEADLINE_SECONDS, message
from tests.uplink.linked import GATEWAY, Linked, coming, linked


@pytest.fixture
async def broker() -> AsyncIterator[SilentBroker]:
    async with SilentBroker() as broker:
        yield broker


@pytest.fixture
async def running(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Linked]:
    """Yield a link that is about to connect."""
    async with linked(tmp_path, broker, monkeypatch) as running:
        yield running


@pytest.fixture
async def connected(running: Linked) -> Linked:
    """Return the same link after its new session has subscribed."""
    await running.until_connected()
    return running


async def test_a_new_session_is_subscribed_without_its_own_messages(
    broker: SilentBroker, running: Linked
) -> None:
    connect = await broker.next_connect()
    assert (connect.protocol_level, connect.clean_start) == (5, False)
    assert is_name_of(connect.client_id, "up")
    assert connect.properties is not None
    assert connect.properties.session_expiry_interval_seconds == 0xFFFFFFFF
    assert connect.properties.maximum_packet_size_bytes == 10_000
    subscribe = await running.packet()
    assert isinstance(subscribe, Subscribe)
    (wanted,) = subscribe.subscriptions
    assert (wanted.topic_filter, wanted.qos, wanted.no_local) == ("site/in/#", 2, True)
    broker.send(Suback(subscribe.packet_id, [2]))
    await running.is_connected()


async def test_a_session_that_is_there_is_not_subscribed_again(
    broker: SilentBroker, connected: Linked
) -> None:
    session = connected.committer.sessions[Side.REMOTE]
    broker.session_present = True
    broker.cut()
    await connected.is_connected(connected=False)
    assert (await broker.next_connect()).client_id == session
    await connected.is_connected()
    assert broker.packets.empty()
    assert connected.link.status()["connections"] == 2


async def test_a_filter_that_is_no_longer_configured_is_unsubscribed(
    broker: SilentBroker, connected: Linked
) -> None:
    connected.committer.subscriptions[Side.REMOTE] = '{"site/in/#": 2, "old/#": 1}'
    broker.session_present = True
    broker.cut()
    unsubscribe = await connected.packet()
    assert isinstance(unsubscribe, Unsubscribe)
    assert unsubscribe.topic_filters == ["old/#"]
    await connected.is_connected(connected=False)
    broker.send(Unsuback(unsubscribe.packet_id, [0]))
    await connected.is_connected()


async def test_a_session_that_the_broker_lost_is_given_up_and_discarded(
    broker: SilentBroker, connected: Linked
) -> None:
    lost = connected.committer.sessions[Side.REMOTE]
    connected.committer.add_event(Arrived(Side.LOCAL, Arrival(message("a"), 1)))
    assert isinstance(await connected.packet(), Publish)
    broker.cut()
    assert (await broker.next_connect()).client_id == lost
    discarding = await broker.next_connect()
    assert (discarding.client_id, discarding.clean_start) == (lost, True)
    assert discarding.properties is not None
    assert discarding.properties.session_expiry_interval_seconds == 0
    begun = await broker.next_connect()
    assert begun.client_id != lost
    again = await connected.packet()
    assert isinstance(again, Publish)
    assert (again.payload, again.dup) == (b"a", False), "it goes out as a new one"
    assert connected.committer.lanes[Side.REMOTE].counters["republished"] == 1


async def test_what_comes_is_stored_once_and_freed_at_its_pubrel(
    broker: SilentBroker, connected: Linked
) -> None:
    broker.send(coming(5))
    assert await connected.packet() == Pubrec(5)
    broker.send(coming(5))
    assert await connected.packet() == Pubrec(5)
    broker.send(coming(6, qos=1))
    assert await connected.packet() == Puback(6)
    broker.send(Pubrel(5))
    assert await connected.packet() == Pubcomp(5)
    lane = connected.committer.lanes[Side.LOCAL]
    assert (lane.waiting, connected.link.status()["repeats"]) == (2, 1)


async def test_what_would_go_round_or_has_no_route_is_answered_and_dropped(
    broker: SilentBroker, connected: Linked
) -> None:
    properties = Properties()
    properties.user_properties = [(HOPS_PROPERTY, f"other,{GATEWAY}")]
    broker.send(Publish("site/in/a", b"", 2, False, False, 5, properties))
    assert await connected.packet() == Pubrec(5)
    broker.send(coming(6, topic="elsewhere", qos=1))
    assert await connected.packet() == Puback(6)
    counters = connected.committer.lanes[Side.LOCAL].counters
    assert (counters["looped"], counters["unrouted"]) == (1, 1)
    assert connected.committer.lanes[Side.LOCAL].is_empty


async def test_the_upstream_broker_retains_whether_the_gateway_is_there(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linked(tmp_path, broker, monkeypatch, availability_topic="gw/state") as running:
        connect = await broker.next_connect()
        assert connect.will is not None
        will = connect.will
        assert (will.topic, will.payload, will.retain) == ("gw/state", b"offline", True)
        subscribe = await running.packet()
        assert isinstance(subscribe, Subscribe)
        broker.send(Suback(subscribe.packet_id, [2]))
        online = await running.packet()
        assert isinstance(online, Publish)
        assert (online.topic, online.payload, online.retain) == ("gw/state", b"online", True)
    offline = await broker.next_packet()
    assert isinstance(offline, Publish)
    assert offline.payload == b"offline"


async def test_a_refused_filter_is_logged_and_asked_for_again(
    broker: SilentBroker, running: Linked, caplog: pytest.LogCaptureFixture
) -> None:
    subscribe = await running.packet()
    assert isinstance(subscribe, Subscribe)
    broker.send(Suback(subscribe.packet_id, [0x87]))
    await running.is_connected()
    assert "refused the filter 'site/in/#': 0x87" in caplog.text
    broker.session_present = True
    broker.cut()
    assert isinstance(await running.packet(), Subscribe)


async def test_a_refused_filter_is_requested_again_on_the_same_connection_and_logged_once(
    broker: SilentBroker,
    running: Linked,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(link, "REFUSED_FILTERS_SECONDS", 0.01)
    for code in (0x87, 0x87, 2):
        subscribe = await running.packet()
        assert isinstance(subscribe, Subscribe)
        broker.send(Suback(subscribe.packet_id, [code]))
    async with asyncio.timeout(DEADLINE_SECONDS):
        while "accepts the filter 'site/in/#' now" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    assert caplog.text.count("refused the filter") == 1
    assert running.link.connections == 1


async def test_a_wrong_password_names_the_keys(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.return_code = 0x86
    async with linked(tmp_path, broker, monkeypatch, username="u", password="secret") as running:  # noqa: S106
        connect = await broker.next_connect()
        assert (connect.username, connect.password) == ("u", b"secret")
        await broker.next_connect()
        fault = str(running.link.status()["fault"])
        assert "[uplink] username and password_file" in fault
        assert "secret" not in fault


async def test_a_broker_that_floods_us_is_left(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "UNCOMMITTED_EVENTS_MAX", 100)
    async with linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        broker.session_present = True
        broker.return_code = 0x88
        for packet_id in range(1, 300):
            broker.send(Pubrel(packet_id))
        await running.is_connected(connected=False)
        assert "more than it gets answers for" in str(running.link.status()["fault"])


async def test_a_broker_whose_messages_find_no_room_is_left_and_keeps_them(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "HELD_BACK_BYTES_MAX", 1_000)
    async with linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        monkeypatch.setattr(running.committer._store.space, "has_room", lambda: False)
        broker.session_present = True
        broker.return_code = 0x88
        for packet_id in range(1, 30):
            broker.send(coming(packet_id))
        await running.is_connected(connected=False)
        assert "the queue is full" in str(running.link.status()["fault"])
        assert running.committer.lanes[Side.LOCAL].is_empty
