"""Uploads sealed segments to their target, oldest first. Uploaded segments are kept for some time.

A segment keeps its name and contents, even if its upload is interrupted and repeated. The oldest
segments are removed from log/sent. A segment is never removed from log/sealed before its upload. An
unreadable segment is moved to log/damaged and retried later. It does not delay other segments.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

from gateway.process.files.disk_errors import is_unreadable, line_of
from gateway.process.files.durable import make_folder, move_durably
from gateway.process.files.segment_folders import (
    SUBFOLDER_SEGMENTS,
    SegmentFolder,
    oldest_in,
    put_in_place,
    remove_if_empty,
    subfolders_in,
)
from gateway.uploader.faults import Fault, kind_of, sentence_of
from gateway.uploader.segments.damage import (
    exported_again,
    restore_readable,
    retire,
    segments_set_aside,
    set_aside,
)
from gateway.uploader.segments.names import (
    SegmentName,
    each_segment_in,
    make_path,
    path_of,
)
from gateway.uploader.segments.verify import DamagedSegment, load_segment_bytes
from gateway.uploader.settings import (
    DAMAGED_RETRY_SECONDS,
    DAMAGED_TRIED_MAX,
    FAREWELL_SECONDS_MAX,
    PRUNED_SHARE,
    UPLOAD_RESCAN_SECONDS,
    UPLOAD_RETRY_SECONDS,
    SessionLogSettings,
)
from gateway.uploader.upload.target_error import TargetError
from gateway.uploader.upload.targets import Target, target_of
from gateway.uploader.waiting import Backoff, either_within, happened_within

logger = logging.getLogger(__name__)

NAMES_SHOWN = 3
"""Maximum number of segment names in the status. The log contains all names."""


class Uploader:
    """Uploads the segments of a data directory. `run` starts the upload."""

    def __init__(self, settings: SessionLogSettings) -> None:
        self._settings = settings
        self._sealed_dir = settings.log_dir / "sealed"
        self._sent_dir = settings.log_dir / "sent"
        self._target: Target | None = None
        self._work = asyncio.Event()
        self._sent = SegmentFolder(self._sent_dir)
        self._sealed = SegmentFolder(self._sealed_dir)
        self._damaged = SegmentFolder(settings.log_dir / "damaged")
        self._sealed_changed = self._is_counted = False
        self._unpruned_files = self._unpruned_bytes = 0
        """Files and bytes moved to log/sent since the last check of its limits."""
        self.last_upload_ms: int | None = None
        self.fault = Fault("uploading the session log")
        self.unreadable = Fault("reading sealed segments")
        self._damaged_backoff = Backoff(DAMAGED_RETRY_SECONDS)
        self._damaged_due = 0.0
        """Monotonic time in seconds at which the segments in log/damaged are retried."""

    @property
    def sent(self) -> dict[str, int]:
        """The number and total size of the uploaded segments that are still on this device."""
        return {"count": self._sent.count, "bytes": self._sent.size_bytes}

    @property
    def sealed(self) -> dict[str, int]:
        """The number and total size of the segments in log/sealed, updated after each change."""
        if self._sealed_changed and self._is_counted:
            self._sealed_changed = False
            # If the folder cannot be listed now, the next pass reports it.
            with suppress(OSError):
                self._sealed.list_folders()
        return {"count": self._sealed.count, "bytes": self._sealed.size_bytes}

    def wake(self) -> None:
        """Start the next upload now, because log/sealed contains a new segment."""
        self._sealed_changed = True
        self._work.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Upload segments until ``stop`` is set, and the remaining ones within a time limit."""
        backoff = Backoff(UPLOAD_RETRY_SECONDS)
        await self._count()
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

    async def _count(self) -> None:
        """Count the segments in all folders, in a separate thread. Called once at startup."""
        for folder in (self._sealed, self._sent, self._damaged):
            # If the folder cannot be listed now, the first pass reports it.
            with suppress(OSError):
                await asyncio.to_thread(_tidied, folder)
        self._is_counted = True

    def prune_all(self) -> None:
        """Delete all uploaded segments to free disk space. The target already has them."""
        try:
            _prune(SegmentFolder(self._sent_dir), bytes_keep=0, files_keep=0)
        except OSError as problem:
            logger.warning("log/sent could not be emptied: %s", line_of(problem))

    async def _prune_to_limits(self) -> None:
        self._unpruned_files = self._unpruned_bytes = 0
        bytes_keep, files_keep = self._settings.sent_bytes_keep, self._settings.sent_files_keep
        # In a thread: after a limit was lowered, thousands of files may have to be removed.
        await asyncio.to_thread(_prune, self._sent, bytes_keep=bytes_keep, files_keep=files_keep)

    async def _upload_all(self, stop: asyncio.Event) -> bool:
        """Try to upload all segments in log/sealed. Return True, or False after a failure."""
        try:
            make_folder(self._sealed_dir)
            make_folder(self._sent_dir)
            for name in each_segment_in(self._sealed_dir):
                if stop.is_set():
                    return True
                await self._upload(name)
            # Damaged segments come last, because a card may take half a minute for a bad block.
            if time.monotonic() >= self._damaged_due:
                await self._try_damaged_again(stop)
            for subfolder in subfolders_in(self._sealed_dir)[:-1]:
                remove_if_empty(self._sealed_dir, subfolder)
            await self._prune_to_limits()
        except TargetError as problem:
            self.fault.begin(str(problem), problem.kind)
            return False
        except OSError as problem:
            self.fault.begin(sentence_of(problem), kind_of(problem))
            return False
        self.fault.end()
        return True

    async def _upload(self, name: SegmentName) -> None:
        path = path_of(self._sealed_dir, name)
        try:
            data = await asyncio.to_thread(load_segment_bytes, path)
        except FileNotFoundError:
            # The exporter found that it is damaged, moved it to log/damaged and logged it.
            self._sealed_changed = True
            return
        except DamagedSegment as damage:
            self._set_aside(path, str(damage))
            return
        except OSError as problem:
            if not is_unreadable(problem):
                raise
            self._set_aside(path, sentence_of(problem))
            return
        if self._target is None:
            self._target = target_of(
                self._settings.target,
                self._settings.data_dir,
                checksum_header=self._settings.checksum_header,
            )
        await self._target.put(path.name, data)
        self._sealed_changed = True
        try:
            await asyncio.to_thread(self._move_to_sent, path, name)
        except FileNotFoundError:
            # The broker has removed it for lack of space (gateway/broker/disk_budget): the target
            # has it.
            return
        self.last_upload_ms = time.time_ns() // 1_000_000
        self._unpruned_files += 1
        self._unpruned_bytes += len(data)
        if (
            self._unpruned_files * PRUNED_SHARE > self._settings.sent_files_keep
            or self._unpruned_bytes * PRUNED_SHARE > self._settings.sent_bytes_keep
        ):
            await self._prune_to_limits()

    def _move_to_sent(self, path: Path, name: SegmentName) -> None:
        move_durably(path, make_path(self._sent_dir, name))

    def _set_aside(self, path: Path, reason: str) -> None:
        """Move an unreadable segment to log/damaged, so that other segments are not delayed."""
        with suppress(FileNotFoundError):
            # The exporter may have found the same damage at the same time.
            set_aside(self._settings.log_dir, path)
        self._sealed_changed = True
        self._damaged_backoff.reset()
        self._damaged_due = time.monotonic() + self._damaged_backoff.next_seconds()
        logger.error(
            "%s cannot be read, waits in log/damaged and is tried again: %s", path.name, reason
        )
        self._show_damaged()

    async def _try_damaged_again(self, stop: asyncio.Event) -> None:
        """Upload damaged segments that are readable again. Raises `TargetError` or `OSError`."""
        log_dir = self._settings.log_dir
        names = list(islice(segments_set_aside(log_dir), DAMAGED_TRIED_MAX))
        # One call in a thread for all segments: thousands of files accumulate while the target is
        # unreachable.
        twice = await asyncio.to_thread(exported_again, log_dir, names) if names else set()
        for name in names:
            if stop.is_set():
                return
            if name in twice:
                # Two segments with the same number would fork the chain at the target.
                retire(log_dir, name)
                logger.info("%s is not uploaded: its events were exported again", name)
            else:
                await self._try_again(name)
        self._damaged_due = time.monotonic() + self._damaged_backoff.next_seconds()
        self._show_damaged()

    async def _try_again(self, name: SegmentName) -> None:
        """Move a damaged segment that is readable again to log/sealed, and upload it."""
        log_dir = self._settings.log_dir
        path = path_of(log_dir / "damaged", name)
        try:
            await asyncio.to_thread(load_segment_bytes, path)
        except (DamagedSegment, FileNotFoundError):
            return
        except OSError as problem:
            if not is_unreadable(problem):
                raise
            return
        await asyncio.to_thread(restore_readable, log_dir, name)
        self._sealed_changed = True
        logger.info("%s can be read again and is uploaded", path.name)
        await self._upload(name)

    def _show_damaged(self) -> None:
        """Update the status report's message about the segments in log/damaged."""
        self._damaged.list_folders()
        count = self._damaged.count
        if not count:
            self.unreadable.end()
            return
        names = segments_set_aside(self._settings.log_dir)
        shown = [str(name) for name in islice(names, NAMES_SHOWN)]
        more = f" and {count - NAMES_SHOWN} more" if count > NAMES_SHOWN else ""
        self.unreadable.show(
            f"{count} segments in log/damaged were not uploaded because they cannot be read, "
            f"and are tried again: {', '.join(shown)}{more}"
        )


def _tidied(folder: SegmentFolder) -> None:
    """Move a folder's segments into subfolders and count them. Raises `OSError` on failure."""
    put_in_place(folder.folder)
    folder.list_folders()


def _prune(sent: SegmentFolder, *, bytes_keep: int, files_keep: int) -> None:
    """Remove the oldest uploaded segments if they exceed a limit. Raises `OSError` on failure."""
    # Checked each time, because the broker also removes files if the disk runs short.
    subfolders = sent.list_folders()
    if sent.count <= files_keep and sent.size_bytes <= bytes_keep:
        return
    if sent.count > SUBFOLDER_SEGMENTS:  # finding the oldest one takes long: not every time
        files_keep -= files_keep // PRUNED_SHARE
        bytes_keep -= bytes_keep // PRUNED_SHARE
    excess_files, excess_bytes = sent.count - files_keep, sent.size_bytes - bytes_keep
    for subfolder in subfolders:
        for file in oldest_in(subfolder.path, subfolder.count):
            if excess_files <= 0 and excess_bytes <= 0:
                break
            (subfolder.path / file.name).unlink(missing_ok=True)
            excess_files -= 1
            excess_bytes -= file.size_bytes
        else:
            remove_if_empty(sent.folder, subfolder.path)
            continue
        break
    sent.list_folders()
