"""Commits the SenML records in a batch's delivered messages as readings.

A gateway is called plain if the batch cannot contain any record from the gateway twice. Most
gateways are plain, and their records are used as they were staged. For the other gateways, the
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
    """The files of plain gateways, in which no reading occurs twice."""
    paired: pa.RecordBatch
    """Records of plain gateways from messages whose receipt and release are in different files."""
    odd: DataFrame | None
    found: Found

    def commit(self) -> int:
        """Append the new readings to the table `sensor_readings`, and return their number."""
        if not self.found.good:
            return 0
        candidates = readings_of(self.staged, self.paired, self.batch)
        if self.odd is None and not readings.any_stored(self.tables, self.found, self.batch):
            self.tables.append("sensor_readings", candidates, batch=self.batch)
            return self.found.good
        if self.odd is not None:
            others = readings.first_readings(readings.readings_of(self.odd, self.batch))
            candidates = candidates.unionByName(others)
        stored = self.tables.read("sensor_readings").where(self.found.near)
        rows = readings.new_readings(candidates, stored.where(F.col("batch") != self.batch))
        self.tables.append("sensor_readings", rows, batch=self.batch)
        mine = self.tables.read("sensor_readings").where(F.col("batch") == self.batch)
        return mine.count()

    def refused(self, readings_new: int) -> list[DataFrame]:
        """Return rows of the table `quarantine` for refused records.

        `readings_new` is the number of new readings. If all valid records are new readings, no
        record can contradict a stored reading, so the tables are not searched.
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
    def _plain(self) -> DataFrame:
        found = records_of(self.staged)
        if self.paired.num_rows:
            found = found.unionByName(paired_of(self.tables, self.paired))
        return found

    @property
    def _all(self) -> DataFrame:
        return self._plain if self.odd is None else self._plain.unionByName(self.odd)


@contextmanager
def records_in(tables: Tables, batch: int, staged: Staged, parts: Split) -> Iterator[Records]:
    """Yield the records of a batch, and remove them from Spark's cache after the block.

    `staged` contains only the files of plain gateways. The records of all other gateways are
    derived from their events, which must be committed already.
    """
    odd = None
    if parts.odd:
        events = tables.read("events").where(F.col("gateway").isin(*parts.odd))
        odd = senml.records_of(deliveries.delivered_in(events, batch)).persist()
    try:
        yield Records(tables, batch, staged, parts.paired, odd, found_of(parts, odd))
    finally:
        if odd is not None:
            odd.unpersist()
