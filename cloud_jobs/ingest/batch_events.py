"""The events of a batch, each identity once, and what becomes of those that contradict."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.ingest import events, quarantine
from cloud_jobs.ingest.staged import Staged, events_of
from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.tables.delta_tables import Tables


@dataclass(frozen=True, slots=True)
class Events:
    """The good lines of a batch's trusted files."""

    tables: Tables
    batch: int
    staged: Staged
    overlapping: list[SignedFile]
    """The files of which an event may be in the tables, or in the batch, already."""

    def commit(self) -> None:
        """Append the new ones to `events`. Nothing is queried if no file overlaps."""
        new = self._candidates
        if self.overlapping:
            known = self.tables.read("events").where(F.col("batch") != self.batch)
            new = events.new_events(new, known, self._ranges)
        self.tables.append("events", new, batch=self.batch)

    def refused(self) -> list[DataFrame]:
        """Return the rows of `quarantine` for those that contradict what is committed."""
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
