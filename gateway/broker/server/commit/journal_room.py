"""Limits of the journal: exported blobs are dropped, and the oldest ones if space is short."""

import logging

from gateway.broker.core.broker import Broker
from gateway.broker.core.records.kinds import Observation
from gateway.broker.store.store import Store

logger = logging.getLogger(__name__)


class JournalRoom:
    """Decides which blobs are dropped with the next batch."""

    def __init__(self, broker: Broker, store: Store) -> None:
        self.broker = broker
        self.store = store
        self.is_wanted = False
        """True if there is something to drop."""
        self._bytes_max = 0
        self._given_up_bytes: int | None = None
        """Size limit of the journal for this time only, because space is short."""

    def exported(self, sequence: int) -> None:
        """Record that the session log is sealed up to `sequence`, so that those blobs may be
        dropped.
        """
        self.store.exported_sequence = max(self.store.exported_sequence, sequence)

    def give_up(self, size_bytes: int) -> None:
        """Drop at least `size_bytes` of the journal's oldest part, because the disk is short of
        space.

        Blobs are dropped even if they are not exported, but only those that the tables cover.
        """
        if size_bytes:
            self._given_up_bytes = max(0, self.store.journal_total_bytes - size_bytes)
            self.is_wanted = True

    def look(self, bytes_max: int) -> None:
        """Check whether blobs can be dropped. The journal may have at most `bytes_max`."""
        self._bytes_max = bytes_max
        is_too_long = self.store.journal_total_bytes > bytes_max
        if is_too_long or self.store.has_droppable():
            self.is_wanted = True

    def drop(self) -> None:
        """Remove exported blobs, and if `max_journal` is exceeded also blobs that are not exported.

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
                "the journal reached max_journal, or the disk its floor: events %d to %d will be "
                "missing in the session log; is `oncegate upload` running?",
                *lost,
            )
            self.broker.observe(None, Observation.LOG_TRUNCATED, str(lost[0]), str(lost[1]))
        self.is_wanted = dropped or lost is not None
