"""The events of a batch.

Each event is stored once. An event that contradicts a stored event is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.ingest import events, quarantine
from cloud_jobs.ingest.staged import Staged, events_of, filled_columns
from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.tables.delta_tables import Tables


@dataclass(frozen=True, slots=True)
class Events:
    """The valid events in the trusted files of a batch. `commit` stores the new events."""

    tables: Tables
    batch: int
    staged: Staged
    overlapping: list[SignedFile]
    """The files that may contain an event that is already in the tables, or twice in the batch."""

    def commit(self) -> None:
        """Append the new events to the table `events`.

        If the event numbers of the files do not overlap those of other files, all events are new
        and no query is needed.
        """
        if not self.overlapping:
            # A column that is null in all rows is not written: readers take it for null.
            columns = filled_columns(self.staged)
            new = events_of(self.staged, self.batch, columns)
            self.tables.append("events", new, batch=self.batch, columns=columns.fieldNames())
            return
        known = self.tables.read("events").where(F.col("batch") != self.batch)
        new = events.new_events(self._candidates, known, self._ranges)
        self.tables.append("events", new, batch=self.batch)

    def refused(self) -> list[DataFrame]:
        """Return rows of the table `quarantine` for events that contradict a committed event.

        Two events contradict each other if they have the same identity but different contents.
        """
        if not self.overlapping:
            return []
        known = self.tables.read("events")
        conflicting = events.conflicting_events(self._candidates, known, self._ranges)
        return [quarantine.refused_events(conflicting, self.batch)]

    @property
    def _candidates(self) -> DataFrame:
        return events_of(self.staged, self.batch)

    @property
    def _ranges(self) -> Column:
        return events.ranges_of(self.overlapping)
