"""Sealed segments reach their target, oldest first, and then stay on the device for a while.

Every segment arrives under its name with its bytes, whatever is cut and repeated on the way. The
disk space is bounded: log/sent is pruned, log/sealed is never touched before its segments have
arrived. A segment that cannot be read waits in log/damaged, is tried again, and delays no other.
The uploader runs beside the exporter and never delays it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from gateway.files.disk_errors import is_unreadable, line_of
from gateway.files.durable import make_folder, move_durably
from gateway.session_log.faults import Fault, kind_of, sentence_of
from gateway.session_log.segments.damage import (
    bring_back,
    exported_again,
    retire,
    segments_set_aside,
    set_aside,
)
from gateway.session_log.segments.names import SegmentName, segments_in
from gateway.session_log.segments.verify import DamagedSegment, load_segment_bytes
from gateway.session_log.settings import (
    DAMAGED_RETRY_SECONDS,
    FAREWELL_SECONDS_MAX,
    UPLOAD_RESCAN_SECONDS,
    UPLOAD_RETRY_SECONDS,
    SessionLogSettings,
)
from gateway.session_log.upload.target_error import TargetError
from gateway.session_log.upload.targets import Target, target_of
from gateway.session_log.waiting import Backoff, either_within, happened_within

logger = logging.getLogger(__name__)

NAMES_SHOWN = 3
"""Segments that are named in the status; the log names each."""


class Uploader:
    """One per data directory. `run` is its whole life; the attributes are for the status."""

    def __init__(self, settings: SessionLogSettings) -> None:
        self._settings = settings
        self._sealed_dir = settings.log_dir / "sealed"
        self._sent_dir = settings.log_dir / "sent"
        self._target: Target | None = None
        self._work = asyncio.Event()
        self._sent: deque[tuple[SegmentName, int]] = deque()
        self._sent_bytes = 0
        self._sealed: dict[str, int] | None = None
        self.last_upload_ms: int | None = None
        self.fault = Fault("uploading the session log")
        self.unreadable = Fault("reading sealed segments")
        self._damaged_backoff = Backoff(DAMAGED_RETRY_SECONDS)
        self._damaged_due = 0.0
        """When log/damaged is looked at again, on the monotonic clock."""

    @property
    def sent(self) -> dict[str, int]:
        """The status's `sent`: what of it is still on this device."""
        return {"count": len(self._sent), "bytes": self._sent_bytes}

    @property
    def sealed(self) -> dict[str, int]:
        """The status's `sealed`. Counted again only after a change: a target that is away for a
        year leaves thousands of files, and the status is asked for every second."""
        if self._sealed is None:
            sizes = [_size_of(self._sealed_dir / str(name)) for name in _listed(self._sealed_dir)]
            self._sealed = {"count": len(sizes), "bytes": sum(sizes)}
        return self._sealed

    def wake(self) -> None:
        """Continue: there is a new sealed segment."""
        self._sealed = None
        self._work.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Upload until ``stop``, then, if the target answers, the rest within a limit."""
        backoff = Backoff(UPLOAD_RETRY_SECONDS)
        while not stop.is_set():
            self._work.clear()
            if await self._upload_all(stop):
                backoff.reset()
                await either_within(self._work, stop, UPLOAD_RESCAN_SECONDS)
            else:
                await happened_within(stop, backoff.next_seconds())
        if self.fault.sentence is None:
            try:
                async with asyncio.timeout(FAREWELL_SECONDS_MAX):
                    await self._upload_all(asyncio.Event())
            except TimeoutError:
                logger.info("segments wait in log/sealed for the next start")

    def prune_all(self) -> None:
        """Give up every sent segment: their target has them, and the disk is full."""
        try:
            self._list_sent()
            self._prune(0)
        except OSError as problem:
            logger.warning("log/sent could not be emptied: %s", line_of(problem))

    def _prune(self, bytes_keep: int) -> None:
        """Remove sent segments, oldest first, until what stays fits. Raises `OSError`."""
        while self._sent and self._sent_bytes > bytes_keep:
            name, size = self._sent[0]
            (self._sent_dir / str(name)).unlink(missing_ok=True)
            self._sent.popleft()
            self._sent_bytes -= size

    async def _upload_all(self, stop: asyncio.Event) -> bool:
        """Make one pass over log/sealed; return False when it ended with a failure."""
        try:
            self._list_sent()
            for name in _listed(self._sealed_dir):
                if stop.is_set():
                    return True
                await self._upload(name)
            # Behind all others: to read a bad block may take a card half a minute.
            if time.monotonic() >= self._damaged_due:
                await self._try_damaged_again(stop)
            self._prune(self._settings.sent_bytes_keep)
        except TargetError as problem:
            self.fault.begin(str(problem), problem.kind)
            return False
        except OSError as problem:
            self.fault.begin(sentence_of(problem), kind_of(problem))
            return False
        self.fault.end()
        return True

    async def _upload(self, name: SegmentName) -> None:
        path = self._sealed_dir / str(name)
        try:
            data = await asyncio.to_thread(load_segment_bytes, path)
        except FileNotFoundError:
            # The exporter found it damaged since it was listed, set it aside and logged it.
            self._sealed = None
            return
        except DamagedSegment as damage:
            self._put_off(path, str(damage))
            return
        except OSError as problem:
            if not is_unreadable(problem):
                raise
            self._put_off(path, sentence_of(problem))
            return
        if self._target is None:
            self._target = target_of(self._settings.target, self._settings.data_dir)
        await self._target.put(path.name, data)
        self._sealed = None
        try:
            await asyncio.to_thread(move_durably, path, self._sent_dir / path.name)
        except FileNotFoundError:
            # The broker has removed it for want of room (gateway/space): the target has it.
            return
        self._sent.append((name, len(data)))
        self._sent_bytes += len(data)
        self.last_upload_ms = time.time_ns() // 1_000_000
        self._prune(self._settings.sent_bytes_keep)

    def _put_off(self, path: Path, reason: str) -> None:
        """Put off one segment that cannot be read: it must not keep all others on the device."""
        with suppress(FileNotFoundError):
            # The exporter may have found the same damage at the same time.
            set_aside(self._settings.log_dir, path)
        self._sealed = None
        self._damaged_backoff.reset()
        self._damaged_due = time.monotonic() + self._damaged_backoff.next_seconds()
        logger.error(
            "%s cannot be read, waits in log/damaged and is tried again: %s", path.name, reason
        )
        self._show_damaged()

    async def _try_damaged_again(self, stop: asyncio.Event) -> None:
        """Upload from log/damaged what can be read again. Raises `TargetError`, `OSError`."""
        log_dir = self._settings.log_dir
        names = segments_set_aside(log_dir)
        # Once for all, and not on the loop: a target that is away leaves thousands of files.
        twice = await asyncio.to_thread(exported_again, log_dir, names) if names else set()
        for name in names:
            if stop.is_set():
                return
            if name in twice:
                # Two segments of one number would fork the chain at the target.
                retire(log_dir, name)
                logger.info("%s is not uploaded: its events were exported again", name)
            else:
                await self._try_again(name)
        self._damaged_due = time.monotonic() + self._damaged_backoff.next_seconds()
        self._show_damaged()

    async def _try_again(self, name: SegmentName) -> None:
        """Bring a segment back from log/damaged and upload it, if it can be read again."""
        log_dir = self._settings.log_dir
        path = log_dir / "damaged" / str(name)
        try:
            await asyncio.to_thread(load_segment_bytes, path)
        except (DamagedSegment, FileNotFoundError):
            return
        except OSError as problem:
            if not is_unreadable(problem):
                raise
            return
        await asyncio.to_thread(bring_back, log_dir, name)
        self._sealed = None
        logger.info("%s can be read again and is uploaded", path.name)
        await self._upload(name)

    def _show_damaged(self) -> None:
        """Have the status name what waits in log/damaged, as long as anything does."""
        names = segments_set_aside(self._settings.log_dir)
        if not names:
            self.unreadable.end()
            return
        shown = [str(name) for name in names[:NAMES_SHOWN]]
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        self.unreadable.show(
            f"{len(names)} segments in log/damaged were not uploaded because they cannot be read, "
            f"and are tried again: {', '.join(shown)}{more}"
        )

    def _list_sent(self) -> None:
        """List log/sent again at each pass: the broker removes files there to free space."""
        make_folder(self._sealed_dir)
        make_folder(self._sent_dir)
        names = segments_in(self._sent_dir)
        self._sent = deque((name, _size_of(self._sent_dir / str(name))) for name in names)
        self._sent_bytes = sum(size for _, size in self._sent)


def _listed(directory: Path) -> list[SegmentName]:
    try:
        return segments_in(directory)
    except FileNotFoundError:
        return []


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0  # It was sent in between.
