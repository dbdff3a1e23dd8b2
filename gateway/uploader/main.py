"""The process `oncegate upload`: exporter, uploader, and the connection to the broker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.process.files.durable import make_folder
from gateway.process.files.lock import LockTaken, ProcessLock
from gateway.uploader.control_link import ControlLink, Record
from gateway.uploader.export.exporter import Exporter
from gateway.uploader.export.journal_pages import Journal
from gateway.uploader.segments.chain import Head
from gateway.uploader.settings import SessionLogSettings
from gateway.uploader.upload.redaction import shown_target
from gateway.uploader.upload.uploader import Uploader

logger = logging.getLogger(__name__)


class LogInUse(RuntimeError):
    """Error raised if another process already exports from this data directory.

    The message contains the other process's id.
    """


def _nothing() -> None:
    """Do nothing. This is the default callback of `serve`."""


async def serve(
    settings: SessionLogSettings,
    journal: Journal,
    stop: asyncio.Event,
    ready: Callable[[], None] = _nothing,
    alive: Callable[[], None] = _nothing,
) -> None:
    """Export and upload the session log until `stop` is set, and then the last events.

    `journal` is a function that reads events from the journal. It is called in the thread of
    `serve`, and can raise `OSError`. `ready` is called when this process has locked the log.
    `alive` is called before each step of the exporter, even if steps fail and are retried. Raises
    `LogInUse` if another process has locked the log, and `OSError` if the data directory cannot be
    used.
    """
    make_folder(settings.data_dir)
    make_folder(settings.log_dir)
    with _only_one(settings.log_dir):
        logger.info("the session log goes to %s", shown_target(settings.target))
        session_log = _SessionLog(settings, journal, alive)
        ready()
        await session_log.run(stop)


class _SessionLog:
    """The exporter, the uploader and the control link, which run concurrently.

    They stop one after another in this order, so that the last events are sealed, uploaded and
    reported.
    """

    def __init__(
        self, settings: SessionLogSettings, journal: Journal, alive: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._uploader = Uploader(settings)
        self._exporter = Exporter(
            settings, journal, on_sealed=self._sealed, make_room=self._make_room, on_step=alive
        )
        self._link = ControlLink(
            settings.control_socket, status=self._status, on_broker=self._exporter.survey_soon
        )

    async def run(self, stop: asyncio.Event) -> None:
        sealing_ended, uploading_ended = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            exporting = group.create_task(self._exporter.run(stop))
            uploading = group.create_task(self._uploader.run(sealing_ended))
            group.create_task(self._link.run(uploading_ended))
            await exporting
            sealing_ended.set()
            await uploading
            uploading_ended.set()

    def _sealed(self, head: Head) -> None:
        self._link.sealed(head)
        self._uploader.wake()

    def _make_room(self) -> None:
        """Delete uploaded segments to free space on a full disk."""
        self._uploader.prune_all()

    def _status(self) -> Record:
        uploader = self._uploader
        faults = [self._exporter.fault, uploader.fault, uploader.unreadable]
        sentences = [fault.sentence for fault in faults if fault.sentence is not None]
        since = [fault.since_ms for fault in faults if fault.since_ms is not None]
        head = self._exporter.head
        return {
            "target": shown_target(self._settings.target),
            "open": self._exporter.open_segment,
            "sealed": uploader.sealed,
            "sent": uploader.sent,
            "last_sealed_sequence": head.last_sequence if head is not None else 0,
            "last_upload_ms": uploader.last_upload_ms,
            "failing_since_ms": min(since, default=None),
            "error": "; ".join(sentences) or None,
            "public_keys": list(self._exporter.public_keys),
        }


@contextmanager
def _only_one(log_dir: Path) -> Iterator[None]:
    """Context manager that locks the log folder, so that no second process exports to it.

    Raises LogInUse if another process holds the lock.
    """
    with ProcessLock(log_dir / "lock") as lock:
        try:
            lock.take()
        except LockTaken as taken:
            raise LogInUse(
                f"process {taken.holder or '?'} already exports to {log_dir}: stop it, or give "
                "this one another data directory"
            ) from taken
        lock.note_holder()
        yield
