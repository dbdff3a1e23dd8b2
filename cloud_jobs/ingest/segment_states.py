"""The table `segments`, which contains the state of each file.

A file's state is written after its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from cloud_jobs.ingest.landing import SETTLED
from cloud_jobs.ingest.trust import Refusal, SignedFile
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import Builder, MergeRule
from cloud_jobs.tables.schemas import SEGMENTS
from cloud_jobs.tables.sql import Queryable, Value

ON: Final = "old.name = new.name"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Results of earlier batches that affect the files of the current batch.

    They come from the table `segments`.
    """

    overlapped: frozenset[str]
    """Paths of files whose range of event numbers overlaps that of an ingested segment."""
    states: Mapping[str, str]
    """States of stored segments, by names that also occur in the batch."""
    owners: Mapping[str, str]
    """Names of ingested segments, by SHA-256 values that also occur in the batch."""


_SAME: Final = (
    "SELECT CAST(NULL AS STRING) AS path, name, state, file_sha256, batch FROM {segments} "
    "WHERE name IN :names OR file_sha256 IN :hashes"
)
_RANGES: Final = "WITH mine (path, gateway, boot, least, greatest) AS (VALUES :ranges) "
"""A syntax with which both Spark and SQLite accept names for the columns of VALUES."""
_TOUCHING: Final = (
    "SELECT mine.path, taken.name, taken.state, taken.file_sha256, taken.batch "
    "FROM {segments} AS taken JOIN mine "
    "ON taken.gateway = mine.gateway AND taken.boot = mine.boot "
    "AND taken.first_sequence <= mine.greatest AND mine.least <= taken.last_sequence "
    # Delta skips the files of all other gateways.
    "WHERE taken.state = 'ingested' AND taken.gateway IN :gateways"
)


def ledger_of(
    known: Queryable, rows: Sequence[Mapping[str, Any]], files: Sequence[SignedFile], batch: int
) -> Ledger:
    """Find the earlier results that affect a batch's files, with one query of the table `segments`.

    Args:
        known: the ingested tables.
        rows: all staged files of the batch.
        files: the files with valid bytes.
        batch: number of the batch. Rows that this batch has already written are ignored.
    """
    names = sorted({row["name"] for row in rows})
    hashes = sorted({row["file_sha256"] for row in rows} - {None})
    ranges: list[tuple[Value, ...]] = [
        (one.path, one.gateway, one.boot, one.first_sequence, one.last_sequence) for one in files
    ]
    sql = f"{_RANGES}{_SAME} UNION ALL {_TOUCHING}" if ranges else _SAME
    gateways = sorted({one.gateway for one in files})
    found = known.query(sql, names=names, hashes=hashes, ranges=ranges, gateways=gateways)
    earlier = [row for row in found if row["batch"] != batch]
    mine, own_hashes = {*names}, {*hashes}
    ingested = [row for row in earlier if row["state"] == "ingested"]
    return Ledger(
        overlapped=frozenset(row["path"] for row in ingested if row["path"] is not None),
        states={row["name"]: row["state"] for row in earlier if row["name"] in mine},
        owners=_first_names([row for row in ingested if row["file_sha256"] in own_hashes]),
    )


def with_refusals(
    files: Sequence[Mapping[str, Any]], refusals: Sequence[Refusal]
) -> list[Mapping[str, Any]]:
    """Return the staged files, and add reason and detail to those refused after staging."""
    found = {one.path: {"reason": one.reason, "detail": one.detail} for one in refusals}
    return [{**file, **found.get(file["path"], {})} for file in files]


def rows_of(files: Sequence[Mapping[str, Any]], ledger: Ledger, batch: int) -> list[Row]:
    """Return rows of the table `segments`, ordered by path.

    There is one row for each file name that is not ingested yet. If two files in different
    directories have the same name, the row describes the trusted file. A refused file with the same
    bytes as a trusted segment is recorded as a duplicate.
    """
    best: dict[str, Mapping[str, Any]] = {}
    for row in files:
        before = best.get(row["name"])
        if before is None or (before["reason"] is not None and row["reason"] is None):
            best[row["name"]] = row
    trusted = [row for row in best.values() if row["reason"] is None]
    owners = _first_names(
        [*({"file_sha256": k, "name": v} for k, v in ledger.owners.items()), *trusted]
    )
    now = datetime.now(UTC)
    return [
        _row(row, owners.get(row["file_sha256"]), batch, now)
        for name, row in best.items()
        if ledger.states.get(name) not in SETTLED
    ]


def _first_names(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the alphabetically first file name for each SHA-256."""
    found: dict[str, str] = {}
    for row in rows:
        found[row["file_sha256"]] = min(found.get(row["file_sha256"], row["name"]), row["name"])
    return found


def _row(file: Mapping[str, Any], owner: str | None, batch: int, now: datetime) -> Row:
    row = {name: file.get(name) for name in SEGMENTS.fieldNames()}
    row |= {"state": "ingested", "batch": batch, "verified_at": now}
    if file["reason"] is not None and owner is not None:
        row |= {"state": "duplicate", "reason": "duplicate", "detail": f"the bytes of {owner}"}
    elif file["reason"] is not None:
        row["state"] = "quarantined"
    return row


def commit(tables: Tables, rows: Sequence[Row], ledger: Ledger, batch: int) -> bool:
    """Write rows to the table `segments`. If a segment was in quarantine, its row is updated.

    Return True if all rows were appended, or False if some were updated.
    """
    if any(row["name"] in ledger.states for row in rows):
        found = tables.frame("segments", rows)
        rule = MergeRule(ON, _merge_states)
        tables.merge("segments", found, rule, batch=batch, step="state", is_stable=True)
        return False
    tables.add_rows("segments", rows, batch=batch, step="state")
    return True


def _merge_states(builder: Builder) -> Builder:
    """Add the clauses of a MERGE: update segments in quarantine, and insert new ones."""
    settled = ", ".join(f"'{state}'" for state in SETTLED)
    return builder.whenMatchedUpdateAll(
        condition=f"old.state NOT IN ({settled})"
    ).whenNotMatchedInsertAll()
