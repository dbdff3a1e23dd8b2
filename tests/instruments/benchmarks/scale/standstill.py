"""The longest turns of the event loop during the heaviest operations."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Publish
from tests.instruments.benchmarks.scale.peer import Peer
from tests.instruments.benchmarks.scale.restart import seeded
from tests.instruments.benchmarks.scale.watched import Watched

AWAY = 100
RETAINED = 100_000
SETTLE_SECONDS = 4.0
"""Time for the checkpoints, evictions and WAL copies after an operation, which run each second."""


async def _load(broker: Watched) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    broker.mark()
    await asyncio.sleep(SETTLE_SECONDS)
    yield "idle", broker.mark()
    for number in range(AWAY):
        peer = await Peer.open(broker.port, f"away{number}")
        await peer.subscribe("x", 1)
        peer.transport.abort()
    publisher = await Peer.open(broker.port, "publisher", clean=True)
    broker.mark()
    await publisher.publish("x", bytes(64), 1, 1_000)
    yield "1,000 messages for 100 sessions that are away", broker.mark()
    await asyncio.sleep(SETTLE_SECONDS)
    yield "the checkpoint of those 100,000 rows, and the WAL's copy", broker.mark()
    back = await Peer.open(broker.port, "away0")
    await back.until(lambda: back.taken_count == 1_000)
    yield "1,000 of them read from disk, page by page", broker.mark()
    for first in range(0, RETAINED, 1_000):
        topics = (f"kept/{number}" for number in range(first, first + 1_000))
        frames = [encode(Publish(topic, b"x", 0, True, False, 0), 4) for topic in topics]
        publisher.transport.write(b"".join(frames))
        await publisher.ping()
    await asyncio.sleep(SETTLE_SECONDS)
    yield "100,000 messages retained, and their checkpoint", broker.mark()
    reader = await Peer.open(broker.port, "reader", clean=True)
    await reader.subscribe("kept/#", 0)
    await reader.until(lambda: reader.taken_count == RETAINED)
    yield "a new subscription to all of them", broker.mark()


async def _expire(broker: Watched) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    await asyncio.sleep(2 * SETTLE_SECONDS)
    yield "100,000 sessions expire at the same time", broker.mark()
    await asyncio.sleep(2 * SETTLE_SECONDS)
    yield "the checkpoint after it", broker.mark()


async def _ask(broker: Watched, data_dir: Path) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    await asyncio.sleep(2 * SETTLE_SECONDS)
    yield "100,000 sessions after an unclean start: its checkpoint and sweep", broker.mark()
    reader, writer = await asyncio.open_unix_connection(data_dir / "control.sock", limit=4 << 20)
    for command in ("status", "sessions"):
        for _ in range(5):
            writer.write(json.dumps({"command": command}).encode() + b"\n")
            assert await reader.readline()
        yield f"100,000 sessions: `{command}`", broker.mark()
    writer.close()


async def _rows(steps: AsyncIterator[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [{"name": name} | figures async for name, figures in steps]


def measure(build: str) -> Iterator[dict[str, Any]]:
    """Yield one row per operation."""
    room = {"mqtt__max_mqueue_len": 1_000_000, "mqtt__max_sessions": 200_000}
    with (
        tempfile.TemporaryDirectory(prefix="oncegate-still-") as folder,
        Watched(Path(folder), build, **room) as broker,
    ):
        yield from asyncio.run(_rows(_load(broker)))
    with seeded(100_000, 0, expiry_seconds=1) as data_dir, Watched(data_dir, build, **room) as one:
        yield from asyncio.run(_rows(_expire(one)))
    with seeded(100_000, 1) as data_dir, Watched(data_dir, build, **room) as one:
        yield from asyncio.run(_rows(_ask(one, data_dir)))
