"""Rows of `quarantine` that are made without Spark: of files, malformed lines and payloads.

What contradicts a stored row is looked for by Spark (cloud_jobs.ingest.quarantine), as are more
refusals than REFUSED_HERE_MAX. Both make the same rows of the same refusals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from cloud_jobs.ingest.batch_records import Records
from cloud_jobs.ingest.segment_file import MORE
from cloud_jobs.ingest.staged import Staged
from cloud_jobs.ingest.unpacking import unpacking
from cloud_jobs.limits import (
    DETAIL_CHARACTERS_MAX,
    QUARANTINE_ROWS_MAX,
    RAW_CHARACTERS_MAX,
    REFUSED_HERE_MAX,
)
from cloud_jobs.tables.schemas import QUARANTINE, RECORDS

Row = dict[str, Any]
_OF_FILE: Final = ("gateway", "boot", "file_sha256", "file_bytes")
_OF_PAYLOAD: Final = (
    "gateway", "store", "message", "boot", "sequence", "wrong", "is_elsewhere", "client_id",
    "topic", "payload", "payload_base64",
)  # fmt: skip


def rows_of(staged: Staged, records: Records, batch: int) -> list[Row] | None:
    """Return the rows of a batch of which nothing is in the tables twice; None where Spark has to
    make them."""
    if not staged.is_local or records.odd is not None or records.found.wrong > REFUSED_HERE_MAX:
        return None
    found = chain(bounded(chain(_lines(staged), _payloads(staged, records))), _files(staged, batch))
    rows = [row | {"batch": batch} for row in found]
    return rows if len(rows) <= REFUSED_HERE_MAX else None


def _row(kind: str, **values: Any) -> Row:
    row: Row = {**dict.fromkeys(QUARANTINE.fieldNames()), "refused": 1, **values, "kind": kind}
    for name, most in (("raw", RAW_CHARACTERS_MAX), ("detail", DETAIL_CHARACTERS_MAX)):
        row[name] = row[name] and row[name][:most]
    return row


def _files(staged: Staged, batch: int) -> Iterator[Row]:
    """Files refused as a whole, but for those whose rows are known from another file.

    Every one keeps its row: whether its file has changed is looked up there.
    """
    refused = {one.path: one for one in staged.refusals}
    rows = [
        {**file, "reason": refused[file["path"]].reason, "detail": refused[file["path"]].detail}
        if file["path"] in refused
        else file
        for file in staged.files
    ]
    rows = [row for row in rows if row["reason"] is not None]
    if not rows:
        return
    doubled = staged.tables.query(
        "SELECT name, file_sha256 FROM {segments} WHERE batch = :batch AND state = 'duplicate'",
        batch=batch,
    )
    seen = {(row["name"], row["file_sha256"]) for row in doubled}
    once = {(row["name"], row["file_sha256"], row["file_bytes"]): row for row in reversed(rows)}
    for (name, sha256, _), row in once.items():
        if (name, sha256) not in seen:
            of_file = {column: row[column] for column in (*_OF_FILE, "reason", "detail")}
            yield _row("segment", segment_name=name, **of_file)


def _lines(staged: Staged) -> Iterator[Row]:
    """Malformed lines of the files that are trusted."""
    if all(file["bad_lines"] == 0 for file in staged.files):
        return
    seen: set[tuple[str, int]] = set()
    for files in staged.read("malformed", "name", *_OF_FILE):
        for file in files.to_pylist():
            of_file = {name: file[name] for name in _OF_FILE}
            for line in file["malformed"]:
                key = (file["file_sha256"], line["line"])
                if key not in seen:
                    yield _row("line", segment_name=file["name"], **of_file, **line)
                seen.add(key)


def _payloads(staged: Staged, records: Records) -> Iterator[Row]:
    """Delivered messages without SenML JSON, or with a reading of another topic."""
    if not records.found.wrong:
        return
    seen: set[tuple[Any, ...]] = set()
    unpacked = unpacking(RECORDS)(staged.read("records"))
    for batch in chain(unpacked, [records.paired]):
        for row in _wrong_in(batch):
            message = (row["gateway"], row["store"], row["message"])
            if message not in seen:
                yield _of_payload(row)
            seen.add(message)


def _wrong_in(records: pa.RecordBatch) -> list[Row]:
    wrong = records.filter(pc.is_valid(records.column("wrong"))).select(_OF_PAYLOAD)
    rows: list[Row] = wrong.to_pylist()
    return rows


def _of_payload(row: Mapping[str, Any]) -> Row:
    publisher = "the broker" if row["client_id"] is None else row["client_id"]
    detail = f"{row['wrong']} (published by {publisher} to {row['topic']})"
    return _row(
        "payload",
        reason="topic" if row["is_elsewhere"] else "not_senml",
        detail=None if row["topic"] is None else detail,
        raw=row["payload_base64"] if row["payload"] is None else row["payload"],
        **{name: row[name] for name in ("gateway", "boot", "sequence")},
    )


def bounded(rows: Iterable[Row]) -> Iterator[Row]:
    """Keep what `quarantine.bounded` keeps."""
    group = ("kind", "gateway", "boot", "segment_name")
    order = (*group, "sequence", "line", "raw")
    ordered = sorted(rows, key=lambda row: tuple(_nulls_first(row[name]) for name in order))
    for _, found in groupby(ordered, lambda row: tuple(row[name] for name in group)):
        mine = list(found)
        yield from mine[:QUARANTINE_ROWS_MAX]
        rest = mine[QUARANTINE_ROWS_MAX:]
        if len(rest) > 1:
            yield _standing_for(rest)
        else:
            yield from rest


def _standing_for(rest: Sequence[Row]) -> Row:
    """Return the one row that counts these."""
    first, last = rest[0], max(row["sequence"] for row in rest)
    count = sum(row["refused"] for row in rest)
    detail = (
        f"{count:,} more refusals at events {first['sequence']} to {last}; the first of them: "
        f"{first['reason'] if first['detail'] is None else first['detail']}"
    )
    nothing = {"line": None, "raw": None}
    return first | nothing | {
        "reason": MORE, "detail": detail[:DETAIL_CHARACTERS_MAX], "sequence": last,
        "refused": count,
    }  # fmt: skip


def _nulls_first(value: Any) -> tuple[bool, Any]:
    return value is not None, value
