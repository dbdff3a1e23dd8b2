"""The table `segments`: what each file was found to be, written when its rows are in the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from cloud_jobs.ingest.landing import SETTLED
from cloud_jobs.ingest.trust import Refusal
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import Builder
from cloud_jobs.tables.schemas import SEGMENTS

ON: Final = "old.name = new.name"


def rows_of(
    tables: Tables, files: Sequence[Mapping[str, Any]], refusals: Sequence[Refusal], batch: int
) -> list[dict[str, Any]]:
    """Return one row for each file name of a batch's staged files, ordered by their paths.

    Of two files with one name (in two directories) the trusted one counts; a refused file with the
    bytes of a trusted segment is its duplicate.
    """
    judged = {refusal.path: refusal for refusal in refusals}
    best: dict[str, dict[str, Any]] = {}
    for file in files:
        row = dict(file)
        if (refusal := judged.get(row["path"])) is not None:
            row |= {"reason": refusal.reason, "detail": refusal.detail}
        before = best.get(row["name"])
        if before is None or (before["reason"] is not None and row["reason"] is None):
            best[row["name"]] = row
    owners = _owners_of(tables, best.values(), batch)
    now = datetime.now(UTC)
    return [_row(row, owners.get(row["file_sha256"]), batch, now) for row in best.values()]


def _owners_of(tables: Tables, rows: Iterable[Mapping[str, Any]], batch: int) -> dict[str, str]:
    """Return the trusted segment that has the bytes of a refused file, by their sha256."""
    rows = list(rows)
    refused = {row["file_sha256"] for row in rows if row["reason"] is not None} - {None}
    if not refused:
        return {}
    found = tables.query(
        "SELECT file_sha256, min(name) AS name FROM {segments} "
        "WHERE state IN ('verified', 'ingested') AND batch <> :batch AND file_sha256 IN :refused "
        "GROUP BY file_sha256",
        refused=sorted(refused), batch=batch,
    )  # fmt: skip
    trusted = [row for row in rows if row["reason"] is None and row["file_sha256"] in refused]
    owners: dict[str, str] = {}
    for row in (*found, *trusted):
        owner = owners.get(row["file_sha256"], row["name"])
        owners[row["file_sha256"]] = min(owner, row["name"])
    return owners


def _row(judged: Mapping[str, Any], owner: str | None, batch: int, now: datetime) -> dict[str, Any]:
    row = {name: judged.get(name) for name in SEGMENTS.fieldNames()}
    row |= {"state": "ingested", "batch": batch, "verified_at": now}
    if judged["reason"] is not None and owner is not None:
        row |= {"state": "duplicate", "reason": "duplicate", "detail": f"the bytes of {owner}"}
    elif judged["reason"] is not None:
        row["state"] = "quarantined"
    return row


def merge_states(builder: Builder) -> Builder:
    """Complete a merge: a settled segment is kept, one in quarantine gets the new verdict, and one
    that an earlier version left `verified` in this batch is ingested now."""
    settled = ", ".join(f"'{state}'" for state in SETTLED)
    return builder.whenMatchedUpdateAll(
        condition=f"old.state NOT IN ({settled}) OR old.batch = new.batch"
    ).whenNotMatchedInsertAll()
