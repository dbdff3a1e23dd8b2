"""Limits the size of the journal by removing its oldest data.

The journal consists of blobs. Each blob contains the encoded events of one batch. Blobs that the
uploader has exported are removed first. If space is short, the oldest blobs are removed too.
"""

import logging

from gateway.broker.core.broker import Broker
from gateway.broker.core.records.kinds import Observation
from gateway.broker.store.store import Store

logger = logging.getLogger(__name__)


class JournalRoom:
    """Remover of old journal data. The data is removed when the next batch is committed."""

    def __init__(self, broker: Broker, store: Store) -> None:
        self.broker = broker
        self.store = store
        self.is_wanted = False
        """True if there are blobs to remove."""
        self._bytes_max = 0
        self._given_up_bytes: int | None = None
        """Size limit for the next removal only, set because disk space is short. Otherwise None."""

    def exported(self, sequence: int) -> None:
        """Record that the uploader has exported all events up to number `sequence`.

        These events may be removed from the journal.
        """
        self.store.exported_sequence = max(self.store.exported_sequence, sequence)

    def give_up(self, size_bytes: int) -> None:
        """Remove at least `size_bytes` of the oldest journal data, because disk space is short.

        Blobs that have not been exported yet are removed too, but only if the database tables
        already contain their changes.
        """
        if size_bytes:
            self._given_up_bytes = max(0, self.store.journal_total_bytes - size_bytes)
            self.is_wanted = True

    def update_is_wanted(self, bytes_max: int) -> None:
        """Check whether old journal data should be removed. If so, set the attribute `is_wanted`.

        Data should be removed if the journal is larger than `bytes_max` or contains exported data.
        """
        self._bytes_max = bytes_max
        is_too_long = self.store.journal_total_bytes > bytes_max
        if is_too_long or self.store.has_droppable():
            self.is_wanted = True

    def drop(self) -> None:
        """Remove exported data, which the uploader has already copied to the session log.

        If the journal is still too large, also remove the oldest data that is not exported yet.

        Raises:
            OSError: a file cannot be removed.
        """
        dropped = self.store.drop_exported()
        limit, self._given_up_bytes = self._given_up_bytes, None
        if limit is None:
            limit = self._bytes_max
        lost = self.store.truncate_journal(limit)
        if lost is not None:
            logger.error(
                "the journal reached max_journal, or the disk is nearly full: events %d to %d will "
                "be missing in the session log; is `oncegate upload` running?",
                *lost,
            )
            self.broker.observe(None, Observation.LOG_TRUNCATED, str(lost[0]), str(lost[1]))
        self.is_wanted = dropped or lost is not None
