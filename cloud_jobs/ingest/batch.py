"""A numbered batch of files, processed step by step. Every step is idempotent.

    stage      commit the verified contents of all files to a table of the batch    _staging/<batch>
    keys       commit the keys of gateways that are new in this batch               gateway_keys
    withdraw   remove unsigned segments that arrived before their gateway's key     (several tables)
    events     commit the valid lines, each event once                              events
    readings   commit the readings in the messages that were delivered              sensor_readings
    segments   commit the state of each file, after its rows are in the tables      segments
    quarantine commit the data that was refused                                     quarantine
    finish     commit the batch's counts; this completes the batch                  batches
    sweep      remove the staging table

The staging commit determines the contents of a batch: files that change, disappear or land later do
not affect it. It also contains everything derived from a file's events, so rows that were just
written are not read back (docs/decisions/0145). Events and readings are committed concurrently, in
any order, followed by segments and quarantine. If some events of a gateway may be in the batch
twice, the events are committed before the readings, and read back (`cloud_jobs.ingest.split`).

Each step depends only on the staging commit and on the tables that earlier steps wrote. Each write
carries the batch's number as its application transaction. If a run fails at any point, the next run
finds the unfinished batch and repeats all steps after staging. Delta skips the steps that are
already committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from cloud_jobs.errors import IngestError, TablesBusyError
from cloud_jobs.ingest import (
    deliveries,
    events,
    gateway_keys,
    quarantine,
    segment_states,
    staging,
    totals,
    withdrawal,
)
from cloud_jobs.ingest.batch_events import Events
from cloud_jobs.ingest.batch_records import Records, records_in
from cloud_jobs.ingest.gateway_keys import KnownKeys, StagedFiles
from cloud_jobs.ingest.keys_file import NO_KEYS, Pinned
from cloud_jobs.ingest.known_rows import KnownRows
from cloud_jobs.ingest.segment_states import Ledger
from cloud_jobs.ingest.split import Split, split
from cloud_jobs.ingest.staged import Staged, staged_files
from cloud_jobs.ingest.trust import GatewayKey, Refusal, new_keys, refusals_of
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.sql import Queryable

STEPS: Final = (
    "stage", "keys", "withdraw", "events", "readings", "segments", "quarantine", "finish", "sweep"
)  # fmt: skip
_WRITTEN_LATER: Final = ("events", "sensor_readings", "segments", "quarantine")
"""Tables written after the keys."""


def last_finished(tables: Tables) -> int:
    """Return the number of the last completely committed batch, or 0 if no batch is complete."""
    return totals.sums_after(tables, 0)["batch"]


class _ExistingRows(NamedTuple):
    refusals: list[Refusal]
    """Files refused because of their keys."""
    files: StagedFiles
    """All other files."""
    ledger: Ledger
    is_withdrawing: bool
    """True if the batch put ingested segments into quarantine."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch and the tables that it writes to.

    `after_step` is called with the name of each committed step. `source` is the directory or URL of
    the files. `pinned` contains each gateway's keys from the keys file (`--keys`).
    """

    tables: Tables
    number: int
    progress: Callable[[str], None]
    after_step: Callable[[str], None]
    source: str = ""
    pinned: Mapping[str, Pinned] = field(default_factory=lambda: NO_KEYS)
    known: KnownRows | None = None
    """Rows that the run holds in memory. If None, Spark executes each query."""

    @property
    def _known(self) -> Queryable:
        return self.known or self.tables

    def _forget(self) -> None:
        if self.known is not None:
            self.known.forget()

    @property
    def _staging_name(self) -> str:
        return f"_staging/{self.number:08d}"

    def is_staged(self) -> bool:
        return self.tables.has(self._staging_name)

    def stage(self, files: DataFrame) -> None:
        """Read and verify files, and store the results in a single commit.

        Raises TablesBusyError if another run has staged the same batch.
        """
        if not staging.stage(self.tables, self._staging_name, files, self.source):
            raise TablesBusyError(
                f"another ingest has just begun batch {self.number} in {self.tables.root}: "
                "wait until it has ended, then run this one again"
            )
        self.after_step("stage")

    def complete(self, *, is_new: bool = False) -> dict[str, Any] | None:
        """Run all steps after `stage` that are not committed yet.

        Args:
            is_new: True if this run staged the batch. If so, no later step is committed yet.

        Returns:
            The batch's row of the table `batches`, or None if another run wrote that row.
        """
        row = None
        try:
            with small_effort(self.tables.spark):
                staged = staged_files(self.tables, self._staging_name)
            row = self._derive(staged, is_new=is_new)
        except (PySparkException, IngestError):
            # Without a lock, another run may have finished the batch and removed its staging table.
            if last_finished(self.tables) < self.number:
                raise
            self.progress(f"batch {self.number}: another run has finished it")
        if row is None or not is_new:
            # The rows in memory may already include some rows of this batch.
            self._forget()
        self.sweep()
        self.after_step("sweep")
        return row

    def _load_existing(self, staged: Staged, *, is_new: bool) -> _ExistingRows:
        """Run the steps `keys` and `withdraw`.

        Return the files to refuse because of their keys, the remaining files, the results of
        earlier batches for these, and a flag that is True if segments were withdrawn.
        """
        self.progress(f"batch {self.number}: keys")
        files = gateway_keys.files_of(staged.files)
        with side_by_side() as submit:
            known_keys = submit(self._known_keys, files, self.pinned)
            named = submit(gateway_keys.confirmed_files, self._known, files.trusted)
            found = submit(self._ledger, staged, files)
        known, ledger = known_keys.result(), found.result()
        keys = new_keys(files.trusted, known.rows, self.pinned)
        if keys and (is_new or not self._has_later_commits()):
            self._commit_keys(keys, known)
            if not is_new:
                # Delta skips the commit if an earlier run made it, so load the stored rows.
                self._forget()
            known = self._known_keys(files, {})
        self.after_step("keys")
        refusals = refusals_of(files.trusted, known.rows, named.result())
        files = files.without(refusals)
        is_withdrawing = known.any_of_batch and self._withdraw(files)
        if is_withdrawing:
            ledger = self._ledger(staged, files)
        self.after_step("withdraw")
        return _ExistingRows(refusals, files, ledger, is_withdrawing)

    def _known_keys(self, files: StagedFiles, pinned: Mapping[str, Pinned]) -> KnownKeys:
        return gateway_keys.known_keys(self._known, files.trusted, pinned, self.number)

    def _ledger(self, staged: Staged, files: StagedFiles) -> Ledger:
        return segment_states.ledger_of(self._known, staged.files, files.trusted, self.number)

    def _commit_keys(self, keys: list[GatewayKey], known: KnownKeys) -> None:
        rows = gateway_keys.commit(self.tables, keys, known, self.number)
        if rows is None:
            self._forget()
        elif self.known is not None:
            self.known.add("gateway_keys", rows)
        for key in keys:
            what = "withdrawn" if key.is_withdrawn else key.source.replace("_", " ")
            self.progress(f"gateway {key.gateway}: key {key.public_key} ({what})")

    def _withdraw(self, files: StagedFiles) -> bool:
        """Withdraw unsigned segments that may be forged. Return True if there were any."""
        names = withdrawal.withdraw(self.tables, self._known, files.trusted, self.number)
        if names:
            self._forget()
        for name in names:
            self.progress(f"{name} was taken unsigned, and goes to quarantine")
        return bool(names)

    def _has_later_commits(self) -> bool:
        """Return True if a step after `keys` is committed. If so, no more keys may be added."""
        return any(self.tables.has_written(name, self.number) for name in _WRITTEN_LATER)

    def _derive(self, staged: Staged, *, is_new: bool) -> dict[str, Any]:
        """Run all steps between `stage` and `sweep`. Return the new row of the table `batches`."""
        tables, number = self.tables, self.number
        with small_effort(tables.spark):
            refusals, files, ledger, is_withdrawing = self._load_existing(staged, is_new=is_new)
        staged = staged.without(refusals)
        files_now = segment_states.with_refusals(staged.files, refusals)
        found = Events(tables, number, staged, events.overlapping(files.trusted, ledger))
        before = partial(deliveries.earlier_events, tables, number)
        parts = split(files.with_events, {one.gateway for one in found.overlapping}, before)
        unique = staged.without(gateways=parts.ambiguous)
        if parts.ambiguous:
            # Duplicates from such gateways are searched among committed events.
            self._commit_events(found)
        with records_in(tables, number, unique, parts) as records:
            readings_new = self._commit_contents(found, records, parts)
            refused = [*records.refused(readings_new), *found.refused()]
            if files.any_malformed_lines:
                refused.append(quarantine.refused_lines(staged.with_malformed, number))
            rows = segment_states.rows_of(files_now, ledger, number)
            segments = quarantine.refused_segments(files_now, rows, number)
            with small_effort(tables.spark, is_small=not refused), side_by_side() as submit:
                submit(self._commit_segments, rows, ledger)
                submit(self._commit_quarantine, refused, segments)
        counted = totals.Counted(
            good_lines=files.good_lines,
            records=records.found.good,
            readings_new=readings_new,
            segments=Counter(row["state"] for row in rows),
            events_new=None if found.overlapping else files.good_lines,
            # An earlier run of the same batch may have withdrawn segments.
            is_refusing=bool(refused or segments) or is_withdrawing or not is_new,
        )
        return self._finish(counted)

    def _finish(self, counted: totals.Counted) -> dict[str, Any]:
        """Commit the batch's row of the table `batches`, and return the row."""
        with small_effort(self.tables.spark):
            row = totals.row_of(self.tables, self.number, counted)
            self.tables.add_rows("batches", [row], batch=self.number)
        self.after_step("finish")
        return row

    def _commit_contents(self, found: Events, records: Records, parts: Split) -> int:
        """Commit the readings of the batch, and return the number of new readings.

        If no gateway is ambiguous (may have duplicates), commit the events at the same time.
        Otherwise, the events must already be committed.
        """
        with side_by_side() as submit:
            if not parts.ambiguous:
                submit(self._commit_events, found)
            readings = submit(self._commit_readings, records)
        return readings.result()

    def _commit_events(self, found: Events) -> None:
        self.progress(f"batch {self.number}: events")
        found.commit()
        self.after_step("events")

    def _commit_readings(self, records: Records) -> int:
        """Commit the readings of the batch. Return the number of new readings."""
        self.progress(f"batch {self.number}: sensor readings")
        readings_new = records.commit()
        self.after_step("readings")
        return readings_new

    def _commit_segments(self, rows: list[dict[str, Any]], ledger: Ledger) -> None:
        self.progress(f"batch {self.number}: segments")
        is_appended = segment_states.commit(self.tables, rows, ledger, self.number)
        if not is_appended:
            self._forget()
        elif self.known is not None:
            self.known.add("segments", rows)
        self.after_step("segments")

    def _commit_quarantine(self, refused: list[DataFrame], segments: list[dict[str, Any]]) -> None:
        """Commit all rows in `segments` (refused files), and a limited number of `refused` rows."""
        rows = [quarantine.bounded(reduce(DataFrame.unionByName, refused))] if refused else []
        if segments:
            rows.append(self.tables.frame("quarantine", segments))
        if rows:
            self.progress(f"batch {self.number}: quarantine")
            all_rows = reduce(DataFrame.unionByName, rows)
            self.tables.append("quarantine", all_rows, batch=self.number)
        self.after_step("quarantine")

    def sweep(self) -> None:
        """Remove the staging table of a finished batch, if it exists."""
        self.tables.remove(self._staging_name)
