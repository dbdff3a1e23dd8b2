"""Process of a queue: locks its directory, waits while the disk is full, reports that it is alive.

The bridge and the uplink are such processes. Their own packages say what they do with the queue.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from gateway.process.files.lock import LockTaken, ProcessLock
from gateway.process.files.queue_database import CommitThread, Database, NoRoom
from gateway.process.files.queue_opening import QueueError, QueueNames

logger = logging.getLogger(__name__)

# Interval of attempts to open the queue on a full disk.
OPEN_AGAIN_SECONDS = 1.0
# Interval of checks whether the process still works.
ALIVE_SECONDS = 1.0
# A longer commit counts as hung: a dying card takes half a minute for one bad block.
COMMIT_SECONDS_MAX = 60.0


class Closing(Protocol):
    """An object that works on an open queue."""

    async def close(self) -> None:
        """Close the queue's file, after a commit that may be running."""


Opened = TypeVar("Opened", bound=Closing)


@dataclass(frozen=True, slots=True)
class Supervision:
    """The stop event of the process, and its reports to the service manager.

    `stop` ends it. `ready` is called when it works, or waits for space on a full disk. `alive` is
    called every second while the event loop runs and no commit hangs.
    """

    stop: asyncio.Event
    ready: Callable[[], None]
    alive: Callable[[], None]

    async def watch(self, commits: CommitThread) -> None:
        """Report regularly that the process is alive, unless a commit takes too long."""
        while not self.stop.is_set():
            if commits.seconds < COMMIT_SECONDS_MAX:
                self.alive()
            await self.stopped_within(ALIVE_SECONDS)

    async def stopped_within(self, seconds: float) -> None:
        """Wait until the process is stopped, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stop.wait()


async def serve_queue(
    path: Path,
    names: QueueNames,
    supervision: Supervision,
    *,
    open_database: Callable[[Path], Database],
    opened_on: Callable[[Database], Opened],
    serve: Callable[[Opened], Awaitable[None]],
) -> None:
    """Lock and open a queue, work on it, and close it.

    Args:
        path: path of the file, in a directory of this process that is created if necessary.
        names: names of the queue in messages.
        supervision: how the process is stopped.
        open_database: opens the file, in a thread.
        opened_on: creates the object that works on the open queue.
        serve: works on the queue until the process is stopped.

    Raises:
        QueueError: one line with the fix.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(path, names):
        opened = await _open_with_room(path, names, supervision, open_database, opened_on)
        if opened is None:
            return
        try:
            await serve(opened)
        except* QueueError as errors:
            raise errors.exceptions[0] from None
        finally:
            await opened.close()


@contextlib.contextmanager
def _only_one(path: Path, names: QueueNames) -> Iterator[None]:
    """Reject a second process: two would use each other's packet identifiers."""
    with ProcessLock(path.with_name(f"{names.program}.lock")) as lock:
        try:
            lock.take()
        except LockTaken:
            raise QueueError(
                f"another {names.program} is using {path.parent}; "
                "stop it or choose another data_dir"
            ) from None
        yield


async def _open_with_room(
    path: Path,
    names: QueueNames,
    supervision: Supervision,
    open_database: Callable[[Path], Database],
    opened_on: Callable[[Database], Opened],
) -> Opened | None:
    """Open the queue, waiting while the disk is full. None: stopped before that.

    Raises QueueError.
    """
    is_logged = False
    while not supervision.stop.is_set():
        try:
            database = await asyncio.to_thread(open_database, path)
            return _opened(database, names, opened_on)
        except NoRoom as full:
            if not is_logged:
                logger.error("%s cannot be opened on a full disk (%s): free space", path, full)
                is_logged = True
                # Waiting for space is its work, so it must not be ended for it.
                supervision.ready()
            supervision.alive()
        await supervision.stopped_within(OPEN_AGAIN_SECONDS)
    return None


def _opened(
    database: Database, names: QueueNames, opened_on: Callable[[Database], Opened]
) -> Opened:
    try:
        return opened_on(database)
    except sqlite3.Error as error:
        database.close()
        raise names.cannot_write(database.path, error) from error
    except NoRoom:
        database.close()
        raise


async def end_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
