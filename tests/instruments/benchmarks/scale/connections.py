"""The cost of an idle connection, and the latency of one client among thousands."""

import asyncio
import resource
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.instruments.benchmarks.scale.peer import Peer
from tests.instruments.benchmarks.scale.watched import Watched

SPARE_FILES = 500
PINGS = 500


async def _hold(broker: Watched, count: int) -> dict[str, Any]:
    watcher = await Peer.open(broker.port, "watcher", clean=True)
    alone = [await watcher.ping() for _ in range(PINGS)]
    before = broker.mark("collect")
    held = [await Peer.open(broker.port, f"idle{number}", clean=True) for number in range(count)]
    after = broker.mark("collect")
    among = [await watcher.ping() for _ in range(PINGS)]
    for peer in held:
        peer.transport.abort()
    return {
        "connections": count,
        "connection_bytes": (after["resident_bytes"] - before["resident_bytes"]) / count,
        "ping_alone_seconds": statistics.quantiles(alone, n=100),
        "ping_among_seconds": statistics.quantiles(among, n=100),
    }


def measure(builds: list[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per build, with as many connections as the limit of open files allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = min(most - SPARE_FILES, 100_000)
    for build in builds:
        with (
            tempfile.TemporaryDirectory(prefix="oncegate-held-") as folder,
            Watched(Path(folder), build, mqtt__max_connections=count + 10) as broker,
        ):
            yield {"build": build} | asyncio.run(_hold(broker, count))
