"""Commits readings: the SenML records in the messages that a batch delivered.

If no record of a gateway can occur twice in the batch, the gateway's records are used as they were
staged. This is true for most gateways. For the other gateways, which are called ambiguous, the
records are derived again from the committed events, with joins and sorts (cloud_jobs.ingest.split).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.ingest import deliveries, quarantine, readings, senml
from cloud_jobs.ingest.readings import Found, found_of
from cloud_jobs.ingest.split import Split
from cloud_jobs.ingest.staged import Staged, paired_of, readings_of, records_of
from cloud_jobs.tables.delta_tables import Tables


@dataclass(frozen=True, slots=True)
class Records:
    """The SenML records of a batch, with the columns of the schema RECORDS."""

    tables: Tables
    batch: int
    staged: Staged
    """The files of unambiguous gateways, in which no reading occurs twice."""
    paired: pa.RecordBatch
    """Records of unambiguous gateways from messages whose receipt and release are in different
    files."""
    ambiguous: DataFrame | None
    """Records of ambiguous gateways, or None if there are none."""
    found: Found

    def commit(self) -> int:
        """Append the new readings to the table `sensor_readings`, and return their number."""
        if not self.found.good:
            return 0
        candidates = readings_of(self.staged, self.paired, self.batch)
        if self.ambiguous is None and not readings.any_stored(self.tables, self.found, self.batch):
            self.tables.append("sensor_readings", candidates, batch=self.batch)
            return self.found.good
        if self.ambiguous is not None:
            others = readings.first_readings(readings.readings_of(self.ambiguous, self.batch))
            candidates = candidates.unionByName(others)
        stored = self.tables.read("sensor_readings").where(self.found.near)
        rows = readings.new_readings(candidates, stored.where(F.col("batch") != self.batch))
        self.tables.append("sensor_readings", rows, batch=self.batch)
        mine = self.tables.read("sensor_readings").where(F.col("batch") == self.batch)
        return mine.count()

    def refused(self, readings_new: int) -> list[DataFrame]:
        """Return rows of the table `quarantine` for refused records.

        These are invalid records, and records that contradict a stored reading. The tables
        are searched for contradictions only if there are fewer new readings (`readings_new`) than
        valid records.
        """
        refused = []
        if self.found.wrong:
            refused.append(quarantine.refused_payloads(self._all, self.batch))
        if self.found.good > readings_new:
            # Search the committed tables for contradictions, so that a retry after a crash finds
            # the same ones.
            contradicting = readings.conflicting_readings(
                readings.readings_of(self._all, self.batch),
                self.tables.read("sensor_readings").where(self.found.near),
            )
            refused.append(quarantine.refused_readings(contradicting, self.batch))
        return refused

    @property
    def _unique(self) -> DataFrame:
        found = records_of(self.staged)
        if self.paired.num_rows:
            found = found.unionByName(paired_of(self.tables, self.paired))
        return found

    @property
    def _all(self) -> DataFrame:
        return self._unique if self.ambiguous is None else self._unique.unionByName(self.ambiguous)


@contextmanager
def records_in(tables: Tables, batch: int, staged: Staged, parts: Split) -> Iterator[Records]:
    """Yield the records of a batch, and remove them from Spark's cache after the block.

    `staged` contains only the files of unambiguous gateways. The records of ambiguous gateways
    (`parts.ambiguous`) are derived from their events, which must be committed already.
    """
    ambiguous = None
    if parts.ambiguous:
        events = tables.read("events").where(F.col("gateway").isin(*parts.ambiguous))
        ambiguous = senml.records_of(deliveries.delivered_in(events, batch)).persist()
    try:
        yield Records(tables, batch, staged, parts.paired, ambiguous, found_of(parts, ambiguous))
    finally:
        if ambiguous is not None:
            ambiguous.unpersist()
