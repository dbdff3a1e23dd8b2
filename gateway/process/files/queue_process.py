"""Runs a process that uses a queue: locks the queue's directory, and opens and closes the queue.

If the disk is too full to open the queue, the process waits. This module is used by the bridge and
the uplink.
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

# Interval between attempts to open the queue on a full disk.
OPEN_AGAIN_SECONDS = 1.0
# Interval between reports that the process is alive.
ALIVE_SECONDS = 1.0
# A longer commit counts as hung. A failing card may take half a minute for one bad block.
COMMIT_SECONDS_MAX = 60.0


class ClosableQueue(Protocol):
    """Interface of an object that uses an open queue, and closes it at the end."""

    async def close(self) -> None:
        """Close the queue's file. If a commit is running, wait for it first."""


Opened = TypeVar("Opened", bound=ClosableQueue)


@dataclass(frozen=True, slots=True)
class Supervision:
    """The event that stops a process, and the callbacks that report its state to the caller.

    Setting `stop` stops the process. The process calls `ready` when it is ready, or when it begins
    to wait for disk space. It calls `alive` every second, unless the event loop or a commit hangs.
    """

    stop: asyncio.Event
    ready: Callable[[], None]
    alive: Callable[[], None]

    async def watch(self, commits: CommitThread) -> None:
        """Call `alive` every second until the process is stopped, except while a commit hangs.

        `commits` is the thread that executes the commits.
        """
        while not self.stop.is_set():
            if commits.seconds < COMMIT_SECONDS_MAX:
                self.alive()
            await self.stopped_within(ALIVE_SECONDS)

    async def stopped_within(self, seconds: float) -> None:
        """Wait until the process is stopped, or until `seconds` seconds have passed."""
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
    """Lock and open a queue, use it until the process is stopped, and close it.

    Args:
        path: path of the queue's file. Its directory is created if necessary.
        names: how error messages and the log refer to the queue.
        supervision: the stop event and the callbacks of the process.
        open_database: function that opens the file. It is called in a separate thread.
        opened_on: function that creates the object that uses the open database.
        serve: function that runs this object until the process is stopped.

    Raises:
        QueueError: if the queue is in use, or cannot be opened or written. The message is one line
            that explains how to fix the problem.
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
    """Context manager that locks a queue's directory.

    Without the lock, two processes could use each other's packet identifiers.

    Raises QueueError if another process holds the lock.
    """
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
    """Open the queue. While the disk is full, try again every second.

    Return the object that `opened_on` creates, or None if the process is stopped before the disk
    has enough space. Raises QueueError if the queue cannot be opened for another reason.
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
                # The process counts as ready, so that the service manager does not stop it.
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
    """Cancel all `tasks`, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
