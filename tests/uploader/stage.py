"""An exporter and uploader in a temporary directory, and the segments that they write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.uploader.main import serve
from gateway.uploader.segments.names import segments_in
from gateway.uploader.segments.verify import Segment, load_segment
from gateway.uploader.settings import SessionLogSettings
from tests.uploader.chains import check_chain
from tests.uploader.journals import MemoryJournal

DEADLINE_SECONDS = 60.0


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition on files or another task holds. Raises TimeoutError after a minute."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110 - a directory has no event to wait for
            await asyncio.sleep(0.005)


def settings_in(directory: Path) -> SessionLogSettings:
    return SessionLogSettings(
        gateway="gw-1",
        data_dir=directory,
        control_socket=directory / "control.sock",
        target=(directory / "uploaded").as_uri(),
        payload_topics=("sensors/#",),
        seal_after_seconds=3600.0,
        sent_bytes_keep=1 << 30,
        poll_seconds=0.01,
        free_bytes_min=0,
    )


def segments_of(*directories: Path) -> list[Segment]:
    """Return all segments in some directories in the order of the chain, each of them verified."""
    found = [
        (name, directory / str(name))
        for directory in directories
        if directory.is_dir()
        for name in segments_in(directory)
    ]
    return [load_segment(path) for _, path in sorted(found, key=lambda item: item[0].segment)]


@dataclass
class Stage:
    settings: SessionLogSettings
    journal: MemoryJournal

    @property
    def log_dir(self) -> Path:
        return self.settings.log_dir

    @property
    def uploaded_dir(self) -> Path:
        return self.settings.data_dir / "uploaded"

    def with_settings(self, **changes: object) -> None:
        self.settings = replace(self.settings, **changes)  # type: ignore[arg-type]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Run `serve` in this process until the block ends, and then stop it cleanly."""
        stop = asyncio.Event()
        task = asyncio.create_task(serve(self.settings, self.journal, stop))
        try:
            yield task
        finally:
            stop.set()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await task

    async def run_once(self) -> None:
        """Start and stop the uploader, which exports, seals and uploads the whole journal."""
        async with self.running():
            pass

    def uploaded(self) -> list[Segment]:
        """Return the segments that arrived. Asserts that they form a chain."""
        segments = segments_of(self.uploaded_dir)
        check_chain(segments)
        return segments

    def sequences(self) -> list[int]:
        """Return the sequence numbers of all events that arrived, in the order of the chain."""
        return [event["sequence"] for segment in self.uploaded() for event in segment.events]  # type: ignore[misc]
