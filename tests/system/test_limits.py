"""Every limit holds, is answered as the standard requires, and affects no other client."""

import time
from collections.abc import Callable

import pytest

from tests.peers.mqtt_bytes import PINGREQ, Kind, Will, connect, publish
from tests.system.stage import Stage


@pytest.mark.parametrize("qos", [1, 2])
async def test_no_more_than_max_inflight_messages_are_sent_before_one_is_acknowledged(
    new_stage: Callable[..., Stage], qos: int
) -> None:
    stage = new_stage("[mqtt]\nmax_inflight = 3")
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), qos), (stage.topic("barrier"), 0))
    await stage.deliver(stage.topic("x"), *[b"%d" % number for number in range(8)], qos=qos)
    window = [await client.expect(Kind.PUBLISH) for _ in range(3)]
    # QoS 0 needs no room in the window: the message arrives, and none from the queue before it.
    await stage.deliver(stage.topic("barrier"), b"barrier", qos=0)
    assert (await client.expect(Kind.PUBLISH)).payload == b"barrier"
    if qos == 1:
        await client.acknowledge(Kind.PUBACK, window[0].packet_id)
    else:
        await client.acknowledge(Kind.PUBREC, window[0].packet_id)
        await client.expect(Kind.PUBREL)
        await client.acknowledge(Kind.PUBCOMP, window[0].packet_id)
    assert (await client.expect(Kind.PUBLISH)).payload == b"3"


async def test_a_queue_of_max_mqueue_len_drops_counts_and_shows_what_does_not_fit(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_mqueue_len = 5\nmax_inflight = 2")
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("x"), 1))
    await client.disconnect()
    await stage.deliver(stage.topic("x"), *[b"%02d" % number for number in range(20)], qos=1)
    session = await stage.session("away")
    kept = session["queued_messages"]
    assert kept <= 5 + 2
    assert session["dropped_messages"] == 20 - kept
    assert (await stage.status())["messages"]["dropped"]["queue_full"] == 20 - kept
    client = await stage.client("away", clean=False)
    payloads = [(await client.take()).payload for _ in range(kept)]
    assert payloads == sorted(payloads)
    await stage.deliver(stage.topic("x"), b"end", qos=1)
    assert (await client.take()).payload == b"end"


async def test_a_queue_of_max_mqueue_bytes_drops_and_counts_what_does_not_fit(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage('[mqtt]\nmax_mqueue_bytes = "10KiB"')
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("x"), 1))
    await client.disconnect()
    await stage.deliver(stage.topic("x"), *[bytes(1000)] * 30, qos=1)
    session = await stage.session("away")
    assert 5 <= session["queued_messages"] <= 10
    assert session["queued_bytes"] <= 10 * 1024
    assert session["dropped_messages"] == 30 - session["queued_messages"]


async def test_a_drop_is_logged_once_for_a_session_and_not_for_each_message(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_mqueue_len = 2")
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("x"), 1))
    await client.disconnect()
    await stage.deliver(stage.topic("x"), *[b"x"] * 50, qos=1)
    assert stage.broker.stop() == 0
    lines = [
        line
        for line in stage.broker.standard_error().splitlines()
        if stage.client_id("away") in line and "queue" in line
    ]
    assert len(lines) == 1, lines


async def test_qos_2_beyond_max_awaiting_rel_is_not_accepted_until_one_is_released(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_awaiting_rel = 2")
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a", clean=False)
    for packet_id in (1, 2):
        await client.publish(stage.topic("x"), b"%d" % packet_id, qos=2, packet_id=packet_id)
        await client.expect(Kind.PUBREC, packet_id)
    await client.publish(stage.topic("x"), b"3", qos=2, packet_id=3)
    # MQTT 3.1.1 has no error code for this: the broker closes the connection and keeps the two
    # accepted messages.
    assert await client.expect_closed() == []
    client = await stage.client("a", clean=False)
    for packet_id in (1, 2):
        await client.acknowledge(Kind.PUBREL, packet_id)
        await client.expect(Kind.PUBCOMP, packet_id)
    await client.deliver(stage.topic("x"), b"3", qos=2)
    assert [(await watcher.take()).payload for _ in range(3)] == [b"1", b"2", b"3"]


async def test_a_message_not_released_within_await_rel_timeout_is_dropped_and_counted(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage('[mqtt]\nawait_rel_timeout = "1s"')
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a", clean=False)
    await client.publish(stage.topic("x"), b"abandoned", qos=2, packet_id=1)
    await client.expect(Kind.PUBREC, 1)
    await stage.eventually(lambda status: status["awaiting_release"] == 0, "nothing awaited")
    status = await stage.status()
    assert sum(status["messages"]["dropped"].values()) == 1
    await client.acknowledge(Kind.PUBREL, 1)
    await client.expect(Kind.PUBCOMP, 1)
    await stage.deliver(stage.topic("x"), b"end")
    assert (await watcher.take()).payload == b"end"


@pytest.mark.statement("MQTT-3.3.1-1")
async def test_retry_interval_sends_unacknowledged_messages_again_on_the_same_connection(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage('[mqtt]\nretry_interval = "1s"')
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"x")
    first = await client.expect(Kind.PUBLISH)
    again = await client.expect(Kind.PUBLISH, first.packet_id)
    assert (first.dup, again.dup) == (False, True)
    await client.acknowledge(Kind.PUBREC, first.packet_id)
    await client.expect(Kind.PUBREL, first.packet_id)
    await client.expect(Kind.PUBREL, first.packet_id)
    await client.acknowledge(Kind.PUBCOMP, first.packet_id)


async def test_a_packet_of_max_packet_size_is_accepted_and_one_byte_more_closes(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage('[mqtt]\nmax_packet_size = "4KiB"')
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 1))
    client = await stage.client("a")
    empty = publish(stage.topic("x"), b"", qos=1, packet_id=1)
    # Packets of more than 127 bytes have a remaining length of two bytes instead of one.
    largest = bytes(4096 - len(empty) - 1)
    await client.publish(stage.topic("x"), largest, qos=1)
    await client.find(Kind.PUBACK)
    assert (await watcher.take()).payload == largest
    await client.publish(stage.topic("x"), largest + b"x", qos=1)
    assert await client.expect_closed() == []
    await watcher.ping()


async def test_an_oversize_packet_is_refused_at_its_header_and_not_after_its_body(
    stage: Stage,
) -> None:
    client = await stage.client("a")
    await client.send_all(b"\x30\xff\xff\xff\x7f")
    assert await client.expect_closed() == []


async def test_a_connection_beyond_max_connections_is_refused_and_a_freed_place_is_given(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_connections = 3")
    clients = [await stage.client(name) for name in "abc"]
    refused = await stage.open()
    await refused.send_all(connect(stage.client_id("d")))
    assert all(each.return_code == 3 for each in await refused.expect_closed())
    for client in clients:
        await client.ping()
    await clients[0].disconnect()
    await stage.eventually(lambda status: status["connections"]["open"] == 2, "a free place")
    await (await stage.client("d")).ping()


@pytest.mark.parametrize("level", [3, 4, 5])
async def test_connections_without_a_whole_connect_are_closed_after_connect_timeout(
    new_stage: Callable[..., Stage], level: int
) -> None:
    stage = new_stage('[mqtt]\nconnect_timeout = "1s"')
    whole = connect(stage.client_id("half"), will=Will("will", b"gone"), level=level)
    began = time.monotonic()
    beginnings = [await stage.open() for _ in whole]
    for count, client in enumerate(beginnings):
        await client.send_all(whole[:count])
    connected = await stage.client("a")
    for client in beginnings:
        assert await client.expect_closed() == []
    assert 0.9 <= time.monotonic() - began <= 4.0
    await connected.ping()
    status = await stage.status()
    assert status["errors"] == {"connect_timeout": len(whole)}
    assert status["connections"]["open"] == 1


async def test_bytes_that_drip_in_do_not_prolong_the_connect_timeout(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage('[mqtt]\nconnect_timeout = "1s"')
    dripping = await stage.open()
    began = time.monotonic()
    waiting = [await stage.open()]
    for byte in connect(stage.client_id("dripping"), keep_alive_seconds=0)[:-2]:
        if time.monotonic() - began > 0.9:
            break
        await dripping.send_all(bytes([byte]))
        waiting.append(await stage.open())
    assert await dripping.expect_closed() == []
    assert time.monotonic() - began <= 4.0


async def test_a_session_beyond_max_sessions_is_refused_and_those_that_exist_may_come_back(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_sessions = 2")
    for name in ("a", "b"):
        client = await stage.client(name, clean=False)
        # A session without a subscription would be discarded.
        await client.subscribe((stage.topic("x"), 1))
        await client.disconnect()
    refused = await stage.open()
    await refused.send_all(connect(stage.client_id("c"), clean=False))
    assert [each.body for each in await refused.expect_closed()] == [b"\x00\x03"]
    assert (await stage.client("a", clean=False)).session_present


async def test_beyond_max_retained_a_message_is_delivered_but_not_retained(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_retained = 2")
    client = await stage.client("a")
    await client.subscribe((stage.topic("+"), 1))
    for name in ("a", "b", "c", "a"):
        await stage.deliver(stage.topic(name), name.encode(), qos=1, retain=True)
        assert (await client.take()).payload == name.encode()
    assert (await stage.status())["retained"] == 2
    await stage.deliver(stage.topic("a"), b"", qos=1, retain=True)
    await stage.deliver(stage.topic("c"), b"c", qos=1, retain=True)
    late = await stage.client("late")
    await late.subscribe((stage.topic("+"), 1))
    assert {(await late.take()).payload for _ in range(2)} == {b"b", b"c"}


@pytest.mark.statement("MQTT-3.9.3-2")
async def test_a_subscription_beyond_max_subscriptions_is_answered_with_0x80(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_subscriptions = 3")
    client = await stage.client("a")
    names = [(stage.topic(name), 1) for name in "abcd"]
    assert await client.subscribe(*names) == [1, 1, 1, 0x80]
    assert await client.subscribe((stage.topic("a"), 2)) == [2]
    await client.unsubscribe(stage.topic("b"))
    assert await client.subscribe((stage.topic("d"), 0)) == [0]


@pytest.mark.statement("MQTT-3.9.3-2")
async def test_a_filter_of_more_than_max_topic_levels_is_answered_with_0x80(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_topic_levels = 4")
    client = await stage.client("a")
    deep = "a/b/c/d/e"
    assert await client.subscribe(("a/b/c/d", 1), (deep, 1), ("+/+/+/+/+", 1)) == [1, 0x80, 0x80]
    await client.deliver("a/b/c/d", b"fine", qos=1)
    assert (await client.take()).payload == b"fine"
    publisher = await stage.client("publisher")
    await publisher.publish(deep, b"too deep", qos=1)
    assert await publisher.expect_closed() == []


async def test_ten_thousand_topic_levels_are_no_harm(stage: Stage) -> None:
    client = await stage.client("a")
    granted = await client.subscribe(("/" * 30_000, 0), ("+/" * 15_000 + "#", 0))
    assert set(granted) == {0x80}
    await client.ping()


async def test_a_flood_of_pings_is_answered_without_disturbing_others(stage: Stage) -> None:
    flooding, calm = await stage.client("flooding"), await stage.client("calm")
    await flooding.send_all(PINGREQ * 20_000)
    await calm.ping()
    for _ in range(20_000):
        await flooding.expect(Kind.PINGRESP)
