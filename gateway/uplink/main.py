"""The uplink's composition root: one process, one queue on disk, a session at each broker.

Stopping costs nothing: what has arrived and is not durable was not answered, what is durable and
not sent waits for the next start.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from gateway.files.lock import LockTaken, ProcessLock
from gateway.files.queue_database import NoRoom
from gateway.uplink.committer import Committer
from gateway.uplink.link import Link
from gateway.uplink.recovery import UplinkError, cannot_write, open_uplink_store
from gateway.uplink.reporting import report
from gateway.uplink.routes import Side
from gateway.uplink.settings import UplinkSettings

logger = logging.getLogger(__name__)

QUEUE_FILE = "uplink.db"
LOCK_FILE = "uplink.lock"
# Between two attempts to open the queue on a full disk.
OPEN_AGAIN_SECONDS = 1.0
# Between two looks at whether the uplink still works.
ALIVE_SECONDS = 1.0
# A commit that takes longer stands still: a dying card needs half a minute for one bad block.
COMMIT_SECONDS_MAX = 60.0


def _nothing() -> None:
    """Run for a caller that needs no report."""


async def serve(
    settings: UplinkSettings,
    stop: asyncio.Event,
    ready: Callable[[], None] = _nothing,
    alive: Callable[[], None] = _nothing,
) -> None:
    """Run until `stop` is set.

    Args:
        settings: the whole uplink.
        stop: ends it.
        ready: called when the queue is open, or waits for room on a full disk.
        alive: called each second while the event loop runs and no commit stands still.

    Raises:
        UplinkError: one line with the mend.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with _only_uplink_in(settings.data_dir):
        committer = await _open(settings, stop, ready, alive)
        if committer is None:
            return
        try:
            await _serve(settings, committer, stop, ready, alive)
        except* UplinkError as errors:
            raise errors.exceptions[0] from None
        finally:
            await committer.close()


async def _open(
    settings: UplinkSettings,
    stop: asyncio.Event,
    ready: Callable[[], None],
    alive: Callable[[], None],
) -> Committer | None:
    """Wait while the disk is full; None where the end comes first. Raises `UplinkError`."""
    path = settings.data_dir / QUEUE_FILE
    is_logged = False
    while not stop.is_set():
        try:
            store = await asyncio.to_thread(open_uplink_store, path)
        except NoRoom as full:
            if not is_logged:
                logger.error("the queue cannot be opened on a full disk (%s): free space", full)
                is_logged = True
                ready()  # to wait for room is its work: it must not be ended for taking long
            alive()
            await _stopped_within(stop, OPEN_AGAIN_SECONDS)
            continue
        try:
            return Committer(store, queue_bytes_max=settings.queue_bytes_max)
        except sqlite3.Error as error:
            store.close()
            raise cannot_write(path, error) from error
    return None


async def _serve(
    settings: UplinkSettings,
    committer: Committer,
    stop: asyncio.Event,
    ready: Callable[[], None],
    alive: Callable[[], None],
) -> None:
    local = Link(Side.LOCAL, settings.local, settings, committer)
    remote = Link(Side.REMOTE, settings.remote, settings, committer)

    def status() -> dict[str, object]:
        return {"local": local.status(), "remote": remote.status(), **committer.status()}

    async with asyncio.TaskGroup() as tasks:
        committing = tasks.create_task(committer.run())
        linking = [tasks.create_task(link.run()) for link in (local, remote)]
        reporting = tasks.create_task(
            report(settings.control_socket, status, settings.report_seconds)
        )
        logger.info("uplink started: %d topics, queue %s", len(settings.routes), settings.data_dir)
        ready()
        while not stop.is_set():
            if committer.commits.seconds < COMMIT_SECONDS_MAX:
                alive()
            await _stopped_within(stop, ALIVE_SECONDS)
        await _end([*linking, reporting])
        committer.stop()
        await committing
    waiting = {side: lane.status()["waiting"] for side, lane in committer.lanes.items()}
    logger.info(
        "uplink stopped, %d messages wait for the upstream broker, %d for the local one",
        waiting[Side.REMOTE],
        waiting[Side.LOCAL],
    )


async def _stopped_within(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _only_uplink_in(data_dir: Path) -> Iterator[None]:
    """Refuse a second uplink: two on one queue would take each other's packet identifiers.

    Raises `UplinkError`.
    """
    with ProcessLock(data_dir / LOCK_FILE) as lock:
        try:
            lock.take()
        except LockTaken:
            raise UplinkError(
                f"another uplink is using {data_dir}; stop it or choose another data_dir"
            ) from None
        yield
