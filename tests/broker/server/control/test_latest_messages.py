"""The index of the latest messages: what it drops, and that no blob is decoded twice."""

import pytest

from gateway.broker.server.control import latest_messages
from gateway.broker.server.control.latest_messages import LatestMessages
from tests.broker.server.broker import log_in
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import Kind, acknowledgement, publish


async def test_the_index_is_bounded_and_the_oldest_goes(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({})
    client = await log_in(broker, "attic")
    for number in range(6):
        client.send(publish(f"t/{number}", b"x" * 100, qos=2, packet_id=1))
        await client.packet()
        client.send(acknowledgement(Kind.PUBREL, 1))
        await client.packet()
    recent = broker.running.event_loop.committer.writer.recent
    monkeypatch.setattr(latest_messages, "LATEST_BYTES_MAX", 1_600)
    index = LatestMessages(recent)
    await index.update()
    assert list(index.by_topic) == ["t/3", "t/4", "t/5"]
    kept = dict(index.by_topic)
    await index.update()
    assert index.by_topic == kept, "no blob is decoded twice"


async def test_a_damaged_blob_costs_itself(start: Start) -> None:
    broker = await start({})
    client = await log_in(broker, "attic")
    recent = broker.running.event_loop.committer.writer.recent
    client.send(publish("a", b"1", qos=1, packet_id=1))
    await client.packet()
    recent.add(b"no blob")
    index = LatestMessages(recent)
    await index.update()
    assert list(index.by_topic) == ["a"]
