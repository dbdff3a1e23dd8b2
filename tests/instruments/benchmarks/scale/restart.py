"""Time and memory of a start after a power cut, with many sessions and queued messages."""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.instruments.benchmarks.scale.peer import Peer
from tests.instruments.benchmarks.scale.watched import Watched, command_of, environment_of

SESSIONS = 100_000
QUEUED = 10
"""Queued messages per session."""


@contextmanager
def seeded(sessions: int, queued: int, expiry_seconds: int = 0) -> Iterator[Path]:
    """Yield a data directory as a power cut leaves it."""
    with tempfile.TemporaryDirectory(prefix="oncegate-seeded-") as folder:
        arguments = map(str, (sessions, queued, expiry_seconds))
        data_dir = Path(folder) / "data"
        command = [*command_of("seeding"), str(data_dir), *arguments]
        subprocess.run(command, check=True, env=environment_of("compiled"))
        yield data_dir


async def _first_clients(port: int, began: float) -> tuple[float, float]:
    await Peer.open(port, "first", clean=True)
    connected = time.monotonic() - began
    peer = await Peer.open(port, "device-77")
    await peer.until(lambda: peer.taken_count == QUEUED)
    return connected, time.monotonic() - began


def measure(builds: list[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per build, with seconds since the start of the process."""
    with tempfile.TemporaryDirectory(prefix="oncegate-empty-") as folder:
        empty = {build: _empty_bytes(Path(folder) / build, build) for build in builds}
    with seeded(SESSIONS, QUEUED) as data_dir:
        for build in builds:
            copy = data_dir.with_name(build)
            shutil.copytree(data_dir, copy)
            began = time.monotonic()
            with Watched(copy, build, mqtt__max_sessions=2 * SESSIONS) as broker:
                connected, served = asyncio.run(_first_clients(broker.port, began))
                yield {
                    "build": build,
                    "connack_seconds": connected,
                    "served_seconds": served,
                    "session_bytes": (broker.started["resident_bytes"] - empty[build]) / SESSIONS,
                    **broker.started,
                }


def _empty_bytes(data_dir: Path, build: str) -> int:
    with Watched(data_dir, build) as broker:
        resident: int = broker.started["resident_bytes"]
        return resident
