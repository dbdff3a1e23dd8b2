"""The journal's newest blobs, which are kept in memory."""

from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.broker.server.commit import recent_blobs
from gateway.broker.server.commit.recent_blobs import RecentBlobs
from tests.broker.server.broker import log_in, running
from tests.peers.mqtt_bytes import publish


def test_the_oldest_blobs_give_way_to_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_blobs, "RECENT_BYTES_MAX", 10)
    recent = RecentBlobs()
    for blob in (b"1" * 4, b"2" * 4, b"3" * 4):
        recent.add(blob)
    assert list(recent.newest_first()) == [b"3333", b"2222"]
    recent.add(b"4" * 11)
    assert list(recent.newest_first()) == [], "one that is too large alone leaves no room"


async def one_run(data_dir: Path) -> list[bytes]:
    async with asynccontextmanager(running)(data_dir, [{}], {}) as broker:
        client = await log_in(broker, "c")
        client.send(publish("t", b"x", qos=1, packet_id=1))
        await client.packet()
        return list(broker.running.event_loop.committer.writer.recent.newest_first())


async def test_a_broker_has_the_blobs_of_the_run_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await one_run(tmp_path)
    second = await one_run(tmp_path)
    assert first, "a login and a message"
    assert second[-len(first) :] == first
    monkeypatch.setattr(recent_blobs, "RECENT_BYTES_MAX", len(first[0]) + len(first[1]))
    some = RecentBlobs()
    some.load(tmp_path)
    assert 1 <= len(list(some.newest_first())) <= 2
