"""Withdraws unsigned segments when their gateway's first key arrives.

The segments were accepted provisionally. A segment to which no signed segment refers, directly or
through other segments, may be forged and must not displace the gateway's own events. Its rows are
removed from the tables before the batch with the key adds rows, and the segment is put into
quarantine. Each step is one idempotent commit. The state in `segments` is written last, so that
after a crash the next run finds the same segments again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from cloud_jobs.ingest.segment_states import ON as SAME_NAME
from cloud_jobs.ingest.trust import UNSIGNED, SignedFile, unconfirmed_files
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import Builder, MergeRule
from cloud_jobs.tables.schemas import SEGMENTS
from cloud_jobs.tables.sql import Queryable

STEP: Final = "withdraw"
WITHDRAWN: Final = (
    "taken before the gateway's first key was known; it is not signed, and no signed segment leads "
    "to it"
)
"""Value of `detail` for a segment that was ingested and is now in quarantine."""
_OF_SEGMENT: Final = (
    "old.gateway = new.gateway AND old.boot = new.boot AND old.segment_name = new.segment_name"
)
_OF_EVENTS: Final = (
    "old.gateway = new.gateway AND old.boot = new.boot "
    # Here a row represents a range of events: from `sequence` to `message`.
    "AND old.sequence BETWEEN new.sequence AND new.message"
)


def withdraw(
    tables: Tables, known: Queryable, files: Sequence[SignedFile], batch: int
) -> list[str]:
    """Withdraw unsigned segments of gateways whose first key arrived with this batch.

    Segments that a valid segment names as its predecessor are not withdrawn. Return the names of
    the withdrawn segments. `known` is used to query the tables `segments` and `gateway_keys`.
    `files` are the valid files of the batch.
    """
    gateways = _with_new_keys(known, batch)
    withdrawn = _segments_to_withdraw(tables, files, batch, gateways) if gateways else []
    if not withdrawn:
        return []
    ranges = [_only(row, segment_name=row["name"]) for row in withdrawn]
    _remove(tables, "events", _OF_SEGMENT, ranges, batch)
    ranges = [
        _only(row, sequence=row["first_sequence"], message=row["last_sequence"])
        for row in withdrawn
    ]
    _remove(tables, "sensor_readings", _OF_EVENTS, ranges, batch)
    _put_into_quarantine(tables, withdrawn, batch)
    return [row["name"] for row in withdrawn]


def _with_new_keys(known: Queryable, batch: int) -> list[str]:
    """Return the gateways whose first key arrived with this batch.

    Only gateways with segments from earlier batches are returned.
    """
    gateways: list[str] = sorted(row["gateway"] for row in known.query(
        "SELECT gateway FROM {gateway_keys} GROUP BY gateway HAVING min(batch) = :batch",
        batch=batch,
    ))  # fmt: skip
    if not gateways:
        return []
    rows = known.query(
        "SELECT DISTINCT gateway FROM {segments} "
        "WHERE state = 'ingested' AND gateway IN :gateways AND batch <> :batch",
        gateways=gateways, batch=batch,
    )  # fmt: skip
    return sorted(row["gateway"] for row in rows)


def _segments_to_withdraw(
    tables: Tables, files: Sequence[SignedFile], batch: int, gateways: list[str]
) -> list[dict[str, Any]]:
    """Return the rows of the table `segments` that must be withdrawn.

    These are ingested, unsigned segments that no valid segment names as its predecessor.
    """
    columns = ", ".join(SEGMENTS.fieldNames())
    rows = tables.query(
        f"SELECT {columns} FROM {{segments}} "
        "WHERE state = 'ingested' AND gateway IN :gateways AND batch <> :batch",
        gateways=gateways, batch=batch,
    )  # fmt: skip
    there = {_file_of(row): row for row in rows}
    # The files of this batch were checked already, so they are valid with or without a signature.
    signed = [file for file in there if file.public_key is not None]
    named = {(file.gateway, file.previous_sha256) for file in (*signed, *files)}
    return [there[file] for file in unconfirmed_files(there, named)]


def _file_of(row: dict[str, Any]) -> SignedFile:
    names = ("path", "folder", "name", "gateway", "segment", "first_sequence", "last_sequence",
             "public_key", "boot", "file_sha256", "previous_sha256")  # fmt: skip
    return SignedFile(*(row[name] for name in names))


def _only(row: dict[str, Any], **columns: Any) -> dict[str, Any]:
    return {"gateway": row["gateway"], "boot": row["boot"], **columns}


def _remove(tables: Tables, name: str, on: str, rows: Sequence[dict[str, Any]], batch: int) -> None:
    found = tables.frame(name, rows)
    tables.merge(name, found, MergeRule(on, _delete), batch=batch, step=STEP)


def _delete(builder: Builder) -> Builder:
    return builder.whenMatchedDelete()


def _put_into_quarantine(tables: Tables, withdrawn: Sequence[dict[str, Any]], batch: int) -> None:
    verdict = {"state": "quarantined", "reason": UNSIGNED, "detail": WITHDRAWN, "batch": batch}
    refused = [
        {"batch": batch, "kind": "segment", "reason": UNSIGNED, "detail": WITHDRAWN, "refused": 1}
        | {name: row[name] for name in ("gateway", "boot", "file_sha256", "file_bytes")}
        | {"segment_name": row["name"]}
        for row in withdrawn
    ]
    tables.add_rows("quarantine", refused, batch=batch, step=STEP)
    judged = [row | verdict | {"verified_at": datetime.now(UTC)} for row in withdrawn]
    tables.merge(
        "segments",
        tables.frame("segments", judged),
        MergeRule(SAME_NAME, lambda builder: builder.whenMatchedUpdateAll()),
        batch=batch,
        step=STEP,
    )
