"""Exports all events of the journal, in order, to sealed segment files.

When a segment is durable, the exporter calls `on_sealed`. After this call, the segment's events may
be removed from the journal. All events of a segment have the same boot (run of the broker), store
(database) and clock quality, and consecutive sequence numbers. After any failure and at startup,
the unfinished segment is discarded, and the journal is read again, starting with the events that
follow the last sealed segment.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.events import JournalBatch
from gateway.process.files.disk_errors import is_full
from gateway.uploader.export.free_space import check_free_space, is_on_disk_of
from gateway.uploader.export.journal_pages import Journal, JournalPages
from gateway.uploader.export.reserve import Reserve
from gateway.uploader.faults import Fault
from gateway.uploader.segments.chain import Chain, Head
from gateway.uploader.segments.lines import LineEncoder
from gateway.uploader.segments.signature import Signer
from gateway.uploader.segments.signing_key import SigningKey
from gateway.uploader.segments.writer import (
    FOOTER_BYTES_MAX,
    HEADER_BYTES_MAX,
    SegmentHeader,
    SegmentWriter,
)
from gateway.uploader.settings import (
    CHUNK_BYTES,
    DRAIN_SECONDS_MAX,
    EXPORT_RETRY_SECONDS,
    LINE_BYTES_MAX,
    SEGMENT_BYTES_MIN,
    SessionLogSettings,
)
from gateway.uploader.waiting import Backoff, happened_within

logger = logging.getLogger(__name__)


class Exporter:
    """The exporter of the journal in one data directory. `run` starts the export.

    The public attributes are for the status report.
    """

    def __init__(
        self,
        settings: SessionLogSettings,
        journal: Journal,
        *,
        on_sealed: Callable[[Head], None],
        make_room: Callable[[], None],
        on_step: Callable[[], None] | None = None,
    ) -> None:
        self._settings = settings
        self._pages = JournalPages(journal, settings.log_dir)
        self._on_sealed = on_sealed
        self._make_room = make_room
        self._on_step = on_step
        self._encoder = LineEncoder(
            settings.payload_topics,
            min(LINE_BYTES_MAX, settings.segment_bytes_max - HEADER_BYTES_MAX - FOOTER_BYTES_MAX),
        )
        self._chain = Chain(settings.log_dir, settings.gateway)
        self._signing_key = SigningKey(settings.log_dir)
        self._signer: Signer | None = None
        self._reserve = Reserve(settings.log_dir)
        self._segment_bytes_max = settings.segment_bytes_max
        """Maximum size of the unfinished segment. It is small while the disk is nearly full."""
        self._writer: SegmentWriter | None = None
        self._opened_seconds = 0.0
        self._is_loaded = False
        self._position = 0
        self._boots: set[str] = set()
        self._survey_due = True
        self.fault = Fault("exporting the session log")

    @property
    def head(self) -> Head | None:
        return self._chain.head

    @property
    def public_keys(self) -> list[str]:
        """The public keys that this gateway has had, in hexadecimal form, the current one last."""
        return self._signing_key.public_keys

    @property
    def open_segment(self) -> dict[str, int]:
        """The number and the event count of the unfinished segment, for the status report."""
        if self._writer is None:
            return {"segment": self._chain.next_segment, "events": 0}
        return {"segment": self._writer.header.segment, "events": self._writer.count}

    def survey_soon(self) -> None:
        """Request a new check of the journal. The broker might have replaced its database."""
        self._survey_due = True

    async def run(self, stop: asyncio.Event) -> None:
        """Export events until `stop` is set, and then the remaining events for a limited time."""
        backoff = Backoff(EXPORT_RETRY_SECONDS)
        while not stop.is_set():
            if self._on_step is not None:
                self._on_step()
            try:
                moved = await self._step()
            except OSError as problem:
                self._begin_again(problem)
                # Retry immediately, before other programs use the space that was freed.
                if not (is_full(problem) and self._reserve.give()):
                    await happened_within(stop, backoff.next_seconds())
                continue
            self.fault.end()
            backoff.reset()
            if not moved:
                await happened_within(stop, self._seconds_until_next_check())
        await self._finish()

    async def _finish(self) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS_MAX
        try:
            while await self._step() and time.monotonic() < deadline:
                pass
            await self._seal()
        except OSError as problem:
            self._begin_again(problem)

    async def _step(self) -> bool:
        """Export one page of the journal. Return False if there were no new events."""
        # Pages are short pieces of work; the event loop must run between them.
        await asyncio.sleep(0)
        if not self._is_loaded:
            await self._load()
        if self._survey_due:
            await self._survey()
        before = self._position
        for batch in self._pages.after(self._position):
            if batch.boot not in self._boots:
                self._survey_due = True
                return True
            await self._export(batch)
        if self._writer is not None and self._seconds_until_seal() <= 0:
            await self._seal()
        return self._position > before

    async def _load(self) -> None:
        self._signer = await asyncio.to_thread(self._signing_key.load)
        await asyncio.to_thread(self._chain.load)
        self._reserve.make()
        self._position = self._chain.last_sequence
        self._boots = set(self._chain.boots)
        self._survey_due = True
        self._is_loaded = True
        if self._chain.head is not None:
            self._on_sealed(self._chain.head)

    async def _survey(self) -> None:
        """Find new events that reuse sequence numbers, and continue the export with them.

        Without this check, these events would be skipped, because their numbers were already
        exported. Numbers are reused if the database was replaced, or if it lost its last commits
        because the SD card ignores fsync. In both cases, the events are from a run of the broker
        that was not exported yet. The export continues with the first batch of this run.
        """
        sequence = -1
        unknown: dict[str, Blob] = {}
        while unknown or sequence <= self._position:
            blobs = self._pages.headers_after(max(0, sequence))
            for blob in blobs:
                if blob.boot in self._boots:
                    # Only the newest boots are stored. All boots before a known boot were
                    # exported.
                    unknown.clear()
                else:
                    unknown.setdefault(blob.boot, blob)
            if not blobs or blobs[-1].last_sequence <= sequence:
                break
            sequence = blobs[-1].last_sequence
            await asyncio.sleep(0)
        if unknown:
            await self._go_to(next(iter(unknown.values())))
            # The export reaches the other boots later.
            self._boots.update(unknown)
        self._survey_due = False

    async def _go_to(self, blob: Blob) -> None:
        self._boots.add(blob.boot)
        if blob.first_sequence > self._position:
            return
        await self._seal()
        logger.warning(
            "boot %s counts from sequence %d while %d is already exported: the broker's "
            "database was replaced or lost its end",
            blob.boot,
            blob.first_sequence,
            self._position,
        )
        self._position = blob.first_sequence - 1

    async def _export(self, batch: JournalBatch) -> None:
        chunk: list[bytes] = []
        chunk_bytes = 0
        first = sequence = max(batch.first_sequence, self._position + 1)
        for event in batch.events[sequence - batch.first_sequence :]:
            line = self._encoder.line_of(sequence, batch.time_ms, event)
            if chunk and chunk_bytes + len(line) > CHUNK_BYTES:
                await self._append(batch, first, chunk)
                chunk, chunk_bytes, first = [], 0, sequence
            chunk.append(line)
            chunk_bytes += len(line)
            sequence += 1
        if chunk:
            await self._append(batch, first, chunk)

    async def _append(self, batch: JournalBatch, first_sequence: int, chunk: list[bytes]) -> None:
        lines = b"".join(chunk)
        if self._writer is not None and not self._takes(
            self._writer, batch, first_sequence, len(lines)
        ):
            await self._seal()
        if self._writer is None:
            self._writer = self._opened(batch, first_sequence)
            self._opened_seconds = time.monotonic()
        self._writer.append(lines, len(chunk))
        self._position = self._writer.next_sequence - 1

    def _takes(
        self, writer: SegmentWriter, batch: JournalBatch, first_sequence: int, bytes_count: int
    ) -> bool:
        """Return True if lines with events of `batch` can be appended to the unfinished segment."""
        header = writer.header
        return (
            (header.boot, header.store, header.clock) == (batch.boot, batch.store, batch.clock)
            and writer.next_sequence == first_sequence
            and bytes_count <= writer.room(self._segment_bytes_max)
        )

    def _opened(self, batch: JournalBatch, first_sequence: int) -> SegmentWriter:
        if first_sequence != self._position + 1:
            logger.warning(
                "sequences %d to %d are not in the journal: the session log shows a gap",
                self._position + 1,
                first_sequence - 1,
            )
        if is_on_disk_of(self._settings.target, self._settings.log_dir):
            check_free_space(self._settings.log_dir, self._settings.free_bytes_min)
        self._segment_bytes_max = (
            SEGMENT_BYTES_MIN if self._reserve.is_tight() else self._settings.segment_bytes_max
        )
        header = SegmentHeader(
            gateway=self._settings.gateway,
            boot=batch.boot,
            store=batch.store,
            clock=batch.clock,
            segment=self._chain.next_segment,
            previous_sha256=self._chain.previous_sha256,
        )
        open_dir = self._settings.log_dir / "open"
        # `_load` has run before, so every segment is signed.
        assert self._signer is not None
        return SegmentWriter(open_dir, header, first_sequence, self._signer)

    async def _seal(self) -> None:
        if self._writer is None:
            return
        await asyncio.to_thread(self._seal_and_remember, self._writer)
        self._writer = None
        self._reserve.make()
        assert self._chain.head is not None
        self._on_sealed(self._chain.head)

    def _seal_and_remember(self, writer: SegmentWriter) -> None:
        self._chain.advance(writer.seal(self._settings.log_dir / "sealed"))

    def _begin_again(self, problem: OSError) -> None:
        self.fault.begin_with(problem)
        if self._writer is not None:
            # `Chain.load` removes a file that cannot be removed now.
            with contextlib.suppress(OSError):
                self._writer.abandon()
            self._writer = None
        self._is_loaded = False
        if is_full(problem):
            self._make_room()

    def _seconds_until_seal(self) -> float:
        return self._opened_seconds + self._settings.seal_after_seconds - time.monotonic()

    def _seconds_until_next_check(self) -> float:
        if self._writer is None:
            return self._settings.poll_seconds
        return min(self._settings.poll_seconds, max(0.0, self._seconds_until_seal()))
