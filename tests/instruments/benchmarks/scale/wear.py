"""The wear of a card per message: commits and bytes written, at rates from 1 per second up.

One publisher and one subscriber have persistent sessions. Payloads have 64 bytes, and the topic's
payloads are logged. Bytes are those that the kernel counted for the process (`write_bytes`: dirty
pages in units of 4 KiB). A commit is one fsync.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.instruments.benchmarks.scale.peer import Peer
from tests.instruments.benchmarks.scale.watched import Watched

TOPIC = "sensors/bench/x"
PAYLOAD = bytes(64)
FULL_LOAD_MESSAGES = 20_000
ROOM: dict[str, Any] = {"mqtt__max_mqueue_len": 1_000_000}
"""A queue limit that lets the subscriber fall behind at full load without losses."""

RATES = (1, 10, 100, 0)
"""Messages per second. 0 is as fast as possible."""

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "commit_delay 10ms": {"limits__commit_delay": "10ms"},
    "commit_delay 100ms": {"limits__commit_delay": "100ms"},
    "lazy_commit_delay 0s": {"limits__lazy_commit_delay": "0s"},
    "lazy_commit_delay 50ms": {"limits__lazy_commit_delay": "50ms"},
    "lazy_commit_delay 10s": {"limits__lazy_commit_delay": "10s"},
    "checkpoint_interval 1s": {"limits__checkpoint_interval": "1s"},
}
PAGE_BYTES = (1024, 4096, 8192, 16384)


async def _flow(port: int, qos: int, rate: int, seconds: float) -> tuple[int, Peer, Peer]:
    subscriber = await Peer.open(port, "subscriber")
    await subscriber.subscribe("sensors/#", qos)
    publisher = await Peer.open(port, "publisher")
    if rate:
        count = await publisher.publish_at(TOPIC, PAYLOAD, qos, rate, seconds)
    else:
        count = FULL_LOAD_MESSAGES
        await publisher.publish(TOPIC, PAYLOAD, qos, count)
    await subscriber.until(lambda: subscriber.taken_count >= count)
    return count, subscriber, publisher


def wear_of(
    settings: dict[str, Any],
    *,
    qos: int,
    rate: int,
    seconds: float,
    page_bytes: int = 0,
    build: str = "plain",
) -> dict[str, Any]:
    """Run one flow on a new data directory. Return the figures per message."""
    with tempfile.TemporaryDirectory(prefix="oncegate-wear-") as folder:
        if page_bytes:
            _begin_with_pages_of(Path(folder) / "broker.db", page_bytes)
        with Watched(Path(folder), build, **ROOM, **settings) as broker:
            broker.mark()
            # The peers stay connected until the figures are read, because a DISCONNECT causes a
            # commit.
            count, figures = asyncio.run(_flow_and_mark(broker, qos, rate, seconds))
    return {
        "qos": qos,
        "rate": rate,
        "messages": count,
        "commits": figures["batches"] / count,
        "written_bytes": figures["written_bytes"] / count,
        "blob_bytes": figures["blob_bytes"] / count,
        "messages_a_second": count / figures["seconds"],
    }


async def _flow_and_mark(
    broker: Watched, qos: int, rate: int, seconds: float
) -> tuple[int, dict[str, Any]]:
    count, *peers = await _flow(broker.port, qos, rate, seconds)
    figures = await asyncio.to_thread(broker.mark)
    for peer in peers:
        peer.transport.abort()
    return count, figures


def _begin_with_pages_of(path: Path, page_bytes: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size={page_bytes}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("VACUUM")


def measure(seconds: float = 10.0) -> Iterator[dict[str, Any]]:
    """Yield one row per setting, rate and QoS."""
    for name, settings in SETTINGS.items():
        for rate in RATES:
            for qos in (1, 2) if name == "defaults" else (2,):
                yield {"settings": name} | wear_of(settings, qos=qos, rate=rate, seconds=seconds)
    for page_bytes in PAGE_BYTES:
        for rate in (10, 0):
            figures = wear_of({}, qos=2, rate=rate, seconds=seconds, page_bytes=page_bytes)
            yield {"settings": f"pages of {page_bytes}"} | figures
