"""A second CONNECT with the same client identifier takes over: the first connection is closed, and
nothing leaks."""

import pytest

from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Will
from tests.system.stage import Stage


@pytest.mark.statement("MQTT-3.1.4-2")
@pytest.mark.parametrize("clean", [True, False])
async def test_a_second_connection_of_a_client_closes_the_first_immediately(
    stage: Stage, clean: bool
) -> None:
    first = await stage.client("a", clean=clean)
    second = await stage.client("a", clean=clean)
    assert await first.expect_closed() == []
    await second.ping()


@pytest.mark.statement("MQTT-3.1.2-8", "MQTT-3.1.4-2")
async def test_a_takeover_publishes_the_will_of_the_first_connection_once(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 2))
    await stage.client("a", will=Will(stage.topic("will"), b"first", qos=2))
    second = await stage.client("a", will=Will(stage.topic("will"), b"second", qos=2))
    assert (await watcher.take()).payload == b"first"
    await second.disconnect()
    await stage.deliver(stage.topic("will"), b"end")
    assert (await watcher.take()).payload == b"end"


@pytest.mark.statement("MQTT-3.1.2-6", "MQTT-3.1.4-3")
async def test_a_clean_takeover_inherits_no_subscription(stage: Stage) -> None:
    first = await stage.client("a")
    await first.subscribe((stage.topic("old"), 2))
    second = await stage.client("a")
    await second.subscribe((stage.topic("new"), 2))
    await stage.deliver(stage.topic("old"), b"for the first")
    await stage.deliver(stage.topic("new"), b"for the second")
    assert (await second.take()).payload == b"for the second"


@pytest.mark.statement("MQTT-3.1.2-6")
async def test_a_clean_takeover_inherits_no_half_received_message(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    first = await stage.client("a")
    await first.publish(stage.topic("x"), b"never released", qos=2, packet_id=7)
    await first.expect(Kind.PUBREC, 7)
    second = await stage.client("a")
    await second.acknowledge(Kind.PUBREL, 7)
    await second.expect(Kind.PUBCOMP, 7)
    await second.publish(stage.topic("x"), b"new", qos=2, packet_id=7)
    await second.expect(Kind.PUBREC, 7)
    await second.acknowledge(Kind.PUBREL, 7)
    assert (await watcher.take()).payload == b"new"


@pytest.mark.statement("MQTT-3.1.2-6")
async def test_a_clean_takeover_is_sent_nothing_of_the_first_connection(stage: Stage) -> None:
    first = await stage.client("a")
    await first.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"unacknowledged")
    await first.expect(Kind.PUBLISH)
    second = await stage.client("a")
    await second.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"new")
    message = await second.take()
    assert (message.payload, message.dup) == (b"new", False)


@pytest.mark.statement("MQTT-4.4.0-1", "MQTT-3.1.2-4")
async def test_a_persistent_takeover_continues_where_the_first_connection_was(stage: Stage) -> None:
    first = await stage.client("a", clean=False)
    await first.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"one", b"two")
    one = await first.expect(Kind.PUBLISH)
    two = await first.expect(Kind.PUBLISH)
    await first.acknowledge(Kind.PUBREC, one.packet_id)
    await first.expect(Kind.PUBREL, one.packet_id)
    second = await stage.client("a", clean=False)
    assert second.session_present
    await second.expect(Kind.PUBREL, one.packet_id)
    again = await second.expect(Kind.PUBLISH, two.packet_id)
    assert (again.payload, again.dup) == (b"two", True)
    assert await first.expect_closed() == []


async def test_a_client_taken_over_a_hundred_times_leaves_one_connection(stage: Stage) -> None:
    before = (await stage.status())["connections"]["open"]
    last: ByteClient | None = None
    for _ in range(100):
        last = await stage.client("a", clean=False)
    assert last is not None
    await last.ping()
    await stage.eventually(
        lambda status: status["connections"]["open"] == before + 1, "one more connection"
    )
    await last.disconnect()
    (await stage.client("a", clean=True)).cut()
