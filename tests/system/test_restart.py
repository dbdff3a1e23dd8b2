"""State that a restart of the broker must not change, after a normal stop and after a kill."""

from collections.abc import Callable

import pytest

from tests.peers.mqtt_bytes import Kind, Will
from tests.system.stage import Stage

either_end = pytest.mark.parametrize("how", ["terminated", "killed"])


@pytest.mark.statement("MQTT-3.1.2-4", "MQTT-4.1.0-1", "MQTT-3.2.2-2")
@either_end
async def test_sessions_and_subscriptions_survive(
    new_stage: Callable[..., Stage], how: str
) -> None:
    stage = new_stage()
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("kept/+"), 2), (stage.topic("gone"), 2))
    await client.unsubscribe(stage.topic("gone"))
    await stage.restart(how)
    client = await stage.client("a", clean=False)
    assert client.session_present
    await stage.deliver(stage.topic("gone"), b"no")
    await stage.deliver(stage.topic("kept/x"), b"yes")
    assert (await client.take()).payload == b"yes"


@pytest.mark.statement("MQTT-3.1.2-5", "MQTT-4.5.0-1")
@either_end
async def test_queued_messages_survive_in_order(new_stage: Callable[..., Stage], how: str) -> None:
    stage = new_stage()
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("+"), 2))
    await client.disconnect()
    payloads = [b"%d" % number for number in range(120)]
    await stage.deliver(stage.topic("one"), *payloads, qos=1)
    await stage.deliver(stage.topic("two"), *payloads, qos=2)
    await stage.restart(how)
    client = await stage.client("away", clean=False)
    messages = [await client.take() for _ in range(240)]
    for name in ("one", "two"):
        taken = [each.payload for each in messages if each.topic == stage.topic(name)]
        assert taken == payloads
    assert not any(each.dup for each in messages)


@pytest.mark.statement("MQTT-4.4.0-1", "MQTT-4.6.0-1", "MQTT-2.3.1-3")
@either_end
async def test_unfinished_deliveries_continue_with_their_packet_ids(
    new_stage: Callable[..., Stage], how: str
) -> None:
    stage = new_stage()
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"1", b"2", b"3")
    await stage.deliver(stage.topic("x"), b"4", qos=1)
    sent = [await client.expect(Kind.PUBLISH) for _ in range(4)]
    await client.acknowledge(Kind.PUBREC, sent[0].packet_id)
    await client.expect(Kind.PUBREL, sent[0].packet_id)
    await stage.restart(how)
    client = await stage.client("a", clean=False)
    resumed = [await client.receive() for _ in range(4)]
    assert [(each.kind, each.packet_id) for each in resumed] == [
        (Kind.PUBREL, sent[0].packet_id),
        *((Kind.PUBLISH, each.packet_id) for each in sent[1:]),
    ]
    assert all(each.dup for each in resumed[1:])
    assert [each.payload for each in resumed[1:]] == [b"2", b"3", b"4"]


@pytest.mark.statement("MQTT-4.3.3-2")
@either_end
async def test_a_half_received_message_is_delivered_once(
    new_stage: Callable[..., Stage], how: str
) -> None:
    stage = new_stage()
    watcher = await stage.client("watcher", clean=False)
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a", clean=False)
    await client.publish(stage.topic("x"), b"once", qos=2, packet_id=5)
    await client.expect(Kind.PUBREC, 5)
    await stage.restart(how)
    client = await stage.client("a", clean=False)
    await client.publish(stage.topic("x"), b"once", qos=2, packet_id=5, dup=True)
    await client.expect(Kind.PUBREC, 5)
    await client.acknowledge(Kind.PUBREL, 5)
    await client.expect(Kind.PUBCOMP, 5)
    await stage.restart(how)
    client = await stage.client("a", clean=False)
    await client.acknowledge(Kind.PUBREL, 5)
    await client.expect(Kind.PUBCOMP, 5)
    await stage.deliver(stage.topic("x"), b"end")
    watcher = await stage.client("watcher", clean=False)
    assert await watcher.take_payloads_until(b"end") == [b"once"]


@pytest.mark.statement("MQTT-3.1.2-6")
@either_end
async def test_what_a_clean_connect_discarded_does_not_come_back(
    new_stage: Callable[..., Stage], how: str
) -> None:
    stage = new_stage()
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    await client.publish(stage.topic("half"), b"half", qos=2, packet_id=3)
    await client.expect(Kind.PUBREC, 3)
    await client.disconnect()
    await stage.deliver(stage.topic("x"), b"queued")
    await stage.restart(how)
    await stage.client("a", clean=True)
    await stage.restart(how)
    client = await stage.client("a", clean=False)
    assert not client.session_present
    await client.subscribe((stage.topic("new"), 2), (stage.topic("half"), 2))
    await client.acknowledge(Kind.PUBREL, 3)
    await client.expect(Kind.PUBCOMP, 3)
    await stage.deliver(stage.topic("x"), b"no")
    await stage.deliver(stage.topic("new"), b"yes")
    assert (await client.take()).payload == b"yes"


@pytest.mark.statement("MQTT-3.1.2-6", "MQTT-4.1.0-2")
@either_end
async def test_a_clean_session_ends_with_the_broker(
    new_stage: Callable[..., Stage], how: str
) -> None:
    stage = new_stage()
    client = await stage.client("a", clean=True)
    await client.subscribe((stage.topic("x"), 2))
    await stage.restart(how)
    client = await stage.client("a", clean=False)
    assert not client.session_present


@pytest.mark.statement("MQTT-3.1.2-7", "MQTT-3.3.1-5")
@either_end
async def test_retained_messages_survive_and_cleared_ones_stay_away(
    new_stage: Callable[..., Stage], how: str
) -> None:
    stage = new_stage()
    for qos in (0, 1, 2):
        await stage.deliver(stage.topic(f"kept/{qos}"), b"kept", qos=qos, retain=True)
        await stage.deliver(stage.topic(f"cleared/{qos}"), b"old", qos=qos, retain=True)
        await stage.deliver(stage.topic(f"cleared/{qos}"), b"", qos=qos, retain=True)
    await stage.restart(how)
    assert await stage.retained_of(stage.topic("kept/+"), wanted=3) == [b"kept"] * 3
    assert await stage.retained_of(stage.topic("cleared/+"), wanted=0) == []


@pytest.mark.statement("MQTT-3.1.2-8")
@either_end
@pytest.mark.parametrize("clean", [True, False])
async def test_the_wills_of_connected_clients_are_published_by_a_restart(
    new_stage: Callable[..., Stage], how: str, clean: bool
) -> None:
    stage = new_stage()
    watcher = await stage.client("watcher", clean=False)
    await watcher.subscribe((stage.topic("will"), 2))
    await watcher.disconnect()
    await stage.client("a", clean=clean, will=Will(stage.topic("will"), b"gone", qos=2))
    polite = await stage.client("b", clean=clean, will=Will(stage.topic("will"), b"no", qos=2))
    await polite.disconnect()
    await stage.restart(how)
    await stage.restart(how)
    await stage.deliver(stage.topic("will"), b"end")
    watcher = await stage.client("watcher", clean=False)
    assert await watcher.take_payloads_until(b"end") == [b"gone"]


async def test_sigterm_closes_every_connection_and_ends_with_exit_code_0(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    client = await stage.client("a")
    assert stage.broker.stop() == 0
    assert await client.expect_closed() == []


async def test_a_second_broker_on_the_same_data_is_refused_and_the_first_continues(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    client = await stage.client("a")
    assert stage.broker.second_start_exit_code() != 0
    await client.ping()
