"""Reads the broker's journal in pages. A page contains several batches of events.

Damaged batches do not stop the export.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gateway.broker.core.records.blob import Blob, DamagedBlob
from gateway.broker.core.records.events import JournalBatch, decode
from gateway.uploader.segments.damage import keep_damaged
from gateway.uploader.settings import DAMAGED_FILES_MAX, PAGE_BYTES, PAGE_BYTES_MAX

logger = logging.getLogger(__name__)

Taken = TypeVar("Taken")

Journal = Callable[[int, int], list[bytes]]
"""``journal(after_sequence, bytes_max)`` returns the encoded batches (blobs) with events after a
sequence number, in order, until ``bytes_max`` bytes are reached. The result may include the
preceding blob. Raises `OSError` if the journal cannot be read."""


class JournalPages:
    """The journal's batches of events, which are read and decoded page by page.

    A damaged batch is copied to log/damaged and skipped. Its events are not exported.
    """

    def __init__(self, journal: Journal, log_dir: Path) -> None:
        self._journal = journal
        self._log_dir = log_dir
        self._bytes_max = PAGE_BYTES
        # The last decoded blob and its last sequence number: an idle journal returns it each time.
        self._latest: tuple[bytes, int] = (b"", 0)
        # Digests of the latest damaged blobs, which are read repeatedly and logged only once.
        self._seen_damaged: OrderedDict[str, None] = OrderedDict()

    def after(self, sequence: int) -> list[JournalBatch]:
        """Return the next batches that contain events after the sequence number ``sequence``.

        The list is empty at the end of the journal.
        """
        return self._page(sequence, self._batch_of)

    def headers_after(self, sequence: int) -> list[Blob]:
        """Return the headers of the next batches, without decoding their events.

        The batches contain events after the sequence number ``sequence``. A header identifies the
        broker run that wrote the events.
        """
        return self._page(sequence, self._header_of)

    def _page(self, sequence: int, taken: Callable[[bytes, int], Taken | None]) -> list[Taken]:
        while True:
            blobs = self._journal(sequence, self._bytes_max)
            found = [each for blob in blobs if (each := taken(blob, sequence)) is not None]
            is_all = sum(map(len, blobs)) < self._bytes_max
            if found or is_all or self._bytes_max >= PAGE_BYTES_MAX:
                self._bytes_max = PAGE_BYTES
                return found
            # The whole page was damaged: read a larger one.
            self._bytes_max *= 2

    def _header_of(self, blob: bytes, sequence: int) -> Blob | None:
        """Return the header of the encoded batch ``blob``, or None to skip the batch.

        A batch is skipped if it is damaged or contains no events after ``sequence``.
        """
        try:
            header = Blob(blob)
        except DamagedBlob as damage:
            self._note(blob, damage)
            return None
        return header if header.last_sequence > sequence else None

    def _batch_of(self, blob: bytes, sequence: int) -> JournalBatch | None:
        """Decode the batch ``blob``, or return None to skip it.

        A batch is skipped if it is damaged or contains no events after ``sequence``.
        """
        if blob == self._latest[0] and self._latest[1] <= sequence:
            return None
        try:
            batch = decode(blob)
        except DamagedBlob as damage:
            self._note(blob, damage)
            return None
        last_sequence = batch.first_sequence + len(batch.events) - 1
        self._latest = (blob, last_sequence)
        return batch if last_sequence > sequence else None

    def _note(self, blob: bytes, damage: DamagedBlob) -> None:
        digest = hashlib.sha256(blob).hexdigest()[:16]
        if digest in self._seen_damaged:
            return
        self._seen_damaged[digest] = None
        if len(self._seen_damaged) > DAMAGED_FILES_MAX:
            self._seen_damaged.popitem(last=False)
        keep_damaged(self._log_dir, f"journal-{digest}.blob", blob)
        logger.error(
            "a blob of the journal is damaged and is kept as log/damaged/journal-%s.blob: %s; "
            "its events are missing from the session log",
            digest,
            damage,
        )
