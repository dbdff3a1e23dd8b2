"""Reads and writes the table `gateway_keys`: the public keys used to verify segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from cloud_jobs.ingest.file_contents import day_of
from cloud_jobs.ingest.keys_file import Pinned
from cloud_jobs.ingest.outline import outline_in
from cloud_jobs.ingest.split import Origin
from cloud_jobs.ingest.trust import (
    GatewayKey,
    Named,
    Refusal,
    SignedFile,
)
from cloud_jobs.limits import GATEWAYS_NAMED_MAX
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import Builder, MergeRule
from cloud_jobs.tables.schemas import GATEWAY_KEYS
from cloud_jobs.tables.sql import Queryable, Values

ON: Final = "old.gateway = new.gateway AND old.public_key = new.public_key"
_COLUMNS: Final = GATEWAY_KEYS.fieldNames()[:-2]
"""The fields of GatewayKey, in their order."""


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Keys of gateways, read from the table `gateway_keys`."""

    rows: list[GatewayKey]
    any_of_batch: bool
    """True if the given batch wrote one of the rows."""


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """Summary of a batch's staged files, used to check their keys."""

    trusted: list[SignedFile]
    """The files with valid bytes, ordered by path."""
    any_refused: bool
    any_malformed_lines: bool
    """True if a file with valid bytes has malformed lines."""
    lines: Mapping[str, int]
    """Number of valid lines, by the path of the file."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Origin and outline of each file with valid bytes and at least one valid line, by path."""

    @property
    def with_events(self) -> list[Origin]:
        """Origins of the trusted files that contain at least one valid line."""
        return [self.origins[file.path] for file in self.trusted if file.path in self.origins]

    @property
    def good_lines(self) -> int:
        """Total number of valid lines in the trusted files."""
        return sum(self.lines[file.path] for file in self.trusted)

    def without(self, refusals: Sequence[Refusal]) -> StagedFiles:
        """Return the summary without the files that were refused for lack of a valid key."""
        refused = {refusal.path for refusal in refusals}
        return replace(
            self,
            trusted=[file for file in self.trusted if file.path not in refused],
            any_refused=self.any_refused or bool(refused),
        )


def files_of(rows: Sequence[Mapping[str, Any]]) -> StagedFiles:
    """Return a summary of a batch's staged files.

    `rows` are the rows of the staging table, sorted by path. There are at most
    SEGMENTS_PER_BATCH_MAX rows.
    """
    names = ("path", "folder", "name", "gateway", "segment", "first_sequence", "last_sequence",
             "public_key", "boot", "file_sha256", "previous_sha256")  # fmt: skip
    signed = [SignedFile(*(row[name] for name in names)) for row in rows if row["reason"] is None]
    return StagedFiles(
        trusted=signed,
        any_refused=any(row["reason"] is not None for row in rows),
        any_malformed_lines=any(row["bad_lines"] != 0 for row in rows),
        lines={row["path"]: row["lines"] - row["bad_lines"] for row in rows},
        origins={row["path"]: _origin_of(row) for row in rows if row["began"] is not None},
    )


def _origin_of(row: Mapping[str, Any]) -> Origin:
    gateway, store, boot, clock = (row[name] for name in ("gateway", "store", "boot", "clock"))
    day, outline = day_of(row["began"]), outline_in(row["outline"])
    return Origin(gateway, store, boot, clock, day, outline)


def known_keys(
    known: Queryable, files: Sequence[SignedFile], pinned: Mapping[str, Pinned], batch: int
) -> KnownKeys:
    """Return the stored keys of all gateways that occur in `files` or in the keys file (`pinned`).

    Both the gateway in a file's header and the names of the file's folders are looked up, because
    the two can differ.
    """
    folders = {folder for file in files for folder in file.folder.split("/")}
    gateways = sorted({file.gateway for file in files} | folders | set(pinned))
    sql = f"SELECT {', '.join(_COLUMNS)}, batch FROM {{gateway_keys}}"
    values = dict[str, Values]()
    if len(gateways) <= GATEWAYS_NAMED_MAX:
        sql += " WHERE gateway IN :gateways OR batch = :batch"
        values = {"gateways": gateways, "batch": batch}
    rows = known.query(sql, **values)
    return KnownKeys(
        rows=[_key_of(row) for row in rows],
        any_of_batch=any(row["batch"] == batch for row in rows),
    )


def _key_of(row: Mapping[str, Any]) -> GatewayKey:
    values = {name: row[name] for name in _COLUMNS}
    # In memory (SQLite) a Boolean is an integer.
    return GatewayKey(**values | {"is_withdrawn": bool(row["is_withdrawn"])})


def confirmed_files(known: Queryable, files: Sequence[SignedFile]) -> list[Named]:
    """Return the gateway and hash of each unsigned file that an ingested segment confirms.

    Each segment contains the hash of the segment before it. If the next segment is ingested, it
    therefore proves that the file is genuine. An ingested segment is trusted even if it is unsigned
    itself, because it was checked when the gateway's first key arrived.
    """
    unsigned = [file for file in files if file.public_key is None]
    hashes: list[str] = sorted({file.sha256 for file in unsigned})
    gateways: list[str] = sorted({file.gateway for file in unsigned})
    if not hashes:
        return []
    rows = known.query(
        "SELECT gateway, previous_sha256 FROM {segments} "
        "WHERE state = 'ingested' AND gateway IN :gateways AND previous_sha256 IN :hashes",
        gateways=gateways, hashes=hashes,
    )  # fmt: skip
    return [(row["gateway"], row["previous_sha256"]) for row in rows]


def rows_of(keys: Sequence[GatewayKey], batch: int) -> list[dict[str, Any]]:
    """Return the keys as rows of the table `gateway_keys`.

    Each row also contains the batch number and the current time.
    """
    stamp = {"batch": batch, "added_at": datetime.now(UTC)}
    return [asdict(key) | stamp for key in keys]


def commit(
    tables: Tables, keys: Sequence[GatewayKey], known: KnownKeys, batch: int
) -> list[dict[str, Any]] | None:
    """Write keys to the table `gateway_keys`, and replace existing rows of the same keys.

    Return the written rows if all of them are new. Return None if some replaced existing rows.
    """
    there = {(row.gateway, row.public_key) for row in known.rows}
    rows = rows_of(keys, batch)
    if any((key.gateway, key.public_key) in there for key in keys):
        found = tables.frame("gateway_keys", rows)
        rule = MergeRule(ON, _merge_keys)
        tables.merge("gateway_keys", found, rule, batch=batch, is_stable=True)
        return None
    tables.add_rows("gateway_keys", rows, batch=batch, step="merge")
    return rows


def _merge_keys(builder: Builder) -> Builder:
    """Add clauses to a MERGE into `gateway_keys`: replace existing rows, and insert new ones."""
    return builder.whenMatchedUpdateAll().whenNotMatchedInsertAll()
