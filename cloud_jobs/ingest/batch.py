"""One numbered batch, step by step; every step can be repeated and none can be done twice.

    stage      the files' rows, verified, in one commit of a table of their own    _staging/<batch>
    keys       the keys of gateways that are new in it                              gateway_keys
    withdraw   unsigned segments that were taken before such a key came go again    (all of these)
    events     the good lines, each identity once                                  events
    readings   what the delivered messages among them carried                      sensor_readings
    sessions   what each session did in them                                       sessions
    segments   what each file was found to be: its rows are in the tables          segments
    quarantine what was refused                                                    quarantine
    finish     the batch's counts; the batch is done                               batches
    sweep      the staging table is removed

The staging commit fixes what is in a batch: files that change, vanish or land later do not matter
to it. What a file's events come to is in it, too: no table is read for what was just written
(docs/decisions/0145). Readings, sessions and segments are committed side by side, in any order. All
other steps are functions of that commit and of the tables that the steps
before wrote, and each write carries the batch's number as its application transaction. A run that
died between any two steps (or within one) is continued by the next run: it finds the batch staged
and not finished, and goes through all steps again; those that were committed are skipped by Delta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.errors import IngestError, TablesBusyError
from cloud_jobs.ingest import (
    deliveries,
    events,
    gateway_keys,
    quarantine,
    refused_here,
    segment_states,
    sessions,
    staging,
    totals,
    withdrawal,
)
from cloud_jobs.ingest.batch_events import Events
from cloud_jobs.ingest.batch_records import Records, records_in
from cloud_jobs.ingest.gateway_keys import StagedFiles
from cloud_jobs.ingest.keys_file import NO_KEYS, Pinned
from cloud_jobs.ingest.landed_file import Landed
from cloud_jobs.ingest.split import Split, split
from cloud_jobs.ingest.staged import Staged, sessions_here, sessions_of, staged_files
from cloud_jobs.ingest.trust import Refusal, new_keys, refusals_of
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import BATCHES

STEPS: Final = (
    "stage",
    "keys",
    "withdraw",
    "events",
    "readings",
    "sessions",
    "segments",
    "quarantine",
    "finish",
    "sweep",
)


class Finished(NamedTuple):
    """The last batch whose every step is committed, and how many segments it and those before it
    had; 0 without one."""

    batch: int
    segments: int


def last_finished(tables: Tables) -> Finished:
    """Look it up in `batches`, which has a row for each."""
    segments = " + ".join(name for name in BATCHES.fieldNames() if name.startswith("segments_"))
    found = tables.query(
        f"SELECT coalesce(max(batch), 0) AS batch, coalesce(sum({segments}), 0) AS segments "
        "FROM {batches}"
    )
    return Finished(**found[0])


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch and where its rows go. `after_step` is called with each step that is committed.

    `source` is what was listed, `pinned` the keys of the file of `--keys`.
    """

    tables: Tables
    number: int
    progress: Callable[[str], None]
    after_step: Callable[[str], None]
    source: str = ""
    pinned: Mapping[str, Pinned] = field(default_factory=lambda: NO_KEYS)

    @property
    def _staging_name(self) -> str:
        return f"_staging/{self.number:08d}"

    def is_staged(self) -> bool:
        return self.tables.has(self._staging_name)

    def stage(self, files: list[Landed]) -> None:
        """Read and verify the files; all their rows become durable in one commit, or none."""
        if not staging.stage(self.tables, self._staging_name, files, self.source):
            raise TablesBusyError(
                f"another ingest has just begun batch {self.number} in {self.tables.root}: "
                "wait until it has ended, then run this one again"
            )
        self.after_step("stage")

    def complete(self) -> None:
        """Do every step after `stage` that is not committed yet."""
        try:
            self._derive(staged_files(self.tables, self._staging_name))
        except (PySparkException, IngestError):
            # Without a lock a second run may have finished the batch and swept it away meanwhile.
            if last_finished(self.tables).batch < self.number:
                raise
            self.progress(f"batch {self.number}: another run has finished it")
        self.sweep()
        self.after_step("sweep")

    def _judged_by_keys(self, staged: Staged) -> tuple[list[Refusal], StagedFiles]:
        """Commit the keys that are new; return the files that none of them vouches for, and the
        others."""
        self.progress(f"batch {self.number}: keys")
        files = gateway_keys.files_of(staged.files)
        known = gateway_keys.known_keys(self.tables, files.trusted, self.pinned)
        keys = new_keys(files.trusted, known, self.pinned)
        if keys and not self._is_begun():
            rows = self.tables.columns("gateway_keys", gateway_keys.rows_of(keys, self.number))
            self.tables.merge(
                "gateway_keys",
                rows,
                on=gateway_keys.ON,
                batch=self.number,
                clauses=gateway_keys.merge_keys,
            )
            for key in keys:
                what = "withdrawn" if key.is_withdrawn else key.source.replace("_", " ")
                self.progress(f"gateway {key.gateway}: key {key.public_key} ({what})")
        self.after_step("keys")
        if keys:
            known = gateway_keys.known_keys(self.tables, files.trusted, {})
        refusals = refusals_of(
            files.trusted, known, gateway_keys.vouched(self.tables, files.trusted)
        )
        files = files.without(refusals)
        for name in withdrawal.withdraw(self.tables, files.trusted, self.number):
            self.progress(f"{name} was taken unsigned, and goes to quarantine")
        self.after_step("withdraw")
        return refusals, files

    def _is_begun(self) -> bool:
        """Return whether a step behind this one was done by the keys as they were: they are
        decided then, also where they let no event in.

        The file of `--keys` may have been changed between a run that died and this one. An earlier
        version wrote `segments` first.
        """
        mine = "SELECT name FROM {segments} WHERE batch = :batch LIMIT 1"
        return self.tables.has_appended("events", self.number) or bool(
            self.tables.query(mine, batch=self.number)
        )

    def _derive(self, staged: Staged) -> None:
        tables, number = self.tables, self.number
        refusals, files = self._judged_by_keys(staged)
        staged = staged.without(refusals)
        overlapping = events.overlapping(tables, files.trusted, number)
        found = Events(tables, number, staged, overlapping)
        self._commit_events(found)
        before = partial(deliveries.halves_before, tables, number)
        parts = split(files.with_events, {file.gateway for file in overlapping}, before)
        plain = staged.without(gateways=parts.odd)
        with records_in(tables, number, plain, parts) as records:
            with side_by_side() as submit:
                readings = submit(self._commit_readings, records)
                submit(self._commit_sessions, plain, parts)
                submit(self._commit_segments, staged, files)
            readings_new = readings.result()
            is_refusing = self._commit_quarantine(staged, files, found, records, readings_new)
            counted = totals.Counted(
                good_lines=files.good_lines,
                records=records.found.good,
                readings_new=readings_new,
                segments=None if files.any_refused or overlapping else len(files.names),
                events_new=None if overlapping else files.good_lines,
                is_refusing=is_refusing,
            )
        tables.add_rows("batches", [totals.row_of(tables, number, counted)], batch=number)
        self.after_step("finish")

    def _commit_events(self, found: Events) -> None:
        self.progress(f"batch {self.number}: events")
        found.commit()
        self.after_step("events")

    def _commit_readings(self, records: Records) -> int:
        """Return how many were new."""
        self.progress(f"batch {self.number}: sensor readings")
        readings_new = records.commit()
        self.after_step("readings")
        return readings_new

    def _commit_segments(self, staged: Staged, files: StagedFiles) -> None:
        self.progress(f"batch {self.number}: segments")
        rows = segment_states.rows_of(self.tables, staged.files, staged.refusals, self.number)
        # Rows of this batch: an earlier version left them in the state `verified`.
        there = self.tables.query(
            "SELECT name FROM {segments} WHERE name BETWEEN :least AND :greatest "
            "AND name IN :names AND (batch <> :batch OR state = 'verified') LIMIT 1",
            least=files.names[0], greatest=files.names[-1], names=files.names, batch=self.number,
        )  # fmt: skip
        if not there:
            self.tables.add_rows("segments", rows, batch=self.number, step="state")
        else:
            self.tables.merge(
                "segments",
                self.tables.columns("segments", rows),
                on=segment_states.ON,
                batch=self.number,
                clauses=segment_states.merge_states,
                step="state",
            )
        self.after_step("segments")

    def _commit_sessions(self, plain: Staged, parts: Split) -> None:
        self.progress(f"batch {self.number}: sessions")
        here = None if parts.odd else sessions_here(plain)
        if here is not None:
            rows = sessions.together(here, self.number)
        else:
            rows = sessions.combined(self._session_parts(plain, parts), self.number)
        self.tables.merge(
            "sessions",
            rows,
            on=sessions.ON,
            batch=self.number,
            clauses=sessions.merge_sessions,
        )
        self.after_step("sessions")

    def _session_parts(self, plain: Staged, parts: Split) -> DataFrame:
        found = sessions_of(plain)
        if not parts.odd:
            return found
        mine = (F.col("batch") == self.number) & F.col("gateway").isin(*parts.odd)
        return found.unionByName(sessions.parts_in(self.tables.read("events").where(mine)))

    def _commit_quarantine(
        self,
        staged: Staged,
        files: StagedFiles,
        found: Events,
        records: Records,
        readings_new: int,
    ) -> bool:
        """Return whether there can be any row."""
        rows = None
        if not found.overlapping and records.found.good == readings_new:
            rows = refused_here.rows_of(staged, records, self.number)
        if rows is None:
            refused = [*records.refused(readings_new), *found.refused()]
            is_refusing = self._commit_refused(staged, files, refused)
        elif is_refusing := bool(rows):
            self.progress(f"batch {self.number}: quarantine")
            self.tables.add_rows("quarantine", rows, batch=self.number)
        self.after_step("quarantine")
        return is_refusing

    def _commit_refused(self, staged: Staged, files: StagedFiles, refused: list[DataFrame]) -> bool:
        """Have Spark commit what was refused; return whether there can be any row."""
        if files.any_malformed_lines:
            refused = [*refused, quarantine.refused_lines(staged.rows, self.number)]
        rows = [quarantine.bounded(reduce(DataFrame.unionByName, refused))] if refused else []
        if files.any_refused:
            # Every refused segment keeps its row: whether its file has changed is looked up there.
            mine = self.tables.read("segments").where(F.col("batch") == self.number)
            rows.append(quarantine.refused_segments(staged.rows, mine, self.number))
        if rows:
            self.progress(f"batch {self.number}: quarantine")
            all_rows = reduce(DataFrame.unionByName, rows)
            self.tables.append("quarantine", all_rows, batch=self.number)
        return bool(rows)

    def sweep(self) -> None:
        """Remove the staging table of a finished batch; nothing happens when there is none."""
        self.tables.remove(self._staging_name)
