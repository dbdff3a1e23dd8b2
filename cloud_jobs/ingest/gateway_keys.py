"""The table `gateway_keys`, and what a batch's files are worth by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.ingest.file_contents import day_of
from cloud_jobs.ingest.keys_file import Pinned
from cloud_jobs.ingest.outline import outline_in
from cloud_jobs.ingest.split import Origin
from cloud_jobs.ingest.trust import (
    FOREIGN_KEY,
    WRONG_PREFIX,
    GatewayKey,
    Named,
    Refusal,
    SignedFile,
)
from cloud_jobs.limits import GATEWAYS_NAMED_MAX
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.local_sql import Values
from cloud_jobs.tables.merge import Builder
from cloud_jobs.tables.schemas import GATEWAY_KEYS

ON: Final = "old.gateway = new.gateway AND old.public_key = new.public_key"
_COLUMNS: Final = GATEWAY_KEYS.fieldNames()[:-2]
"""The fields of GatewayKey, in their order."""


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """A batch's files, as their first rows have them."""

    trusted: list[SignedFile]
    """Those whose bytes are right, in order of their paths."""
    any_refused: bool
    any_malformed_lines: bool
    lines: Mapping[str, int]
    """Good lines by the path of a file whose bytes are right."""
    names: Sequence[str]
    """Of all files."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """By the path of a file whose bytes are right and that has a good line."""

    @property
    def with_events(self) -> list[Origin]:
        """Where the trusted files that have a good line are from."""
        return [self.origins[file.path] for file in self.trusted if file.path in self.origins]

    @property
    def good_lines(self) -> int:
        """Of the trusted files."""
        return sum(self.lines[file.path] for file in self.trusted)

    def without(self, refusals: Sequence[Refusal]) -> StagedFiles:
        """Return the same files, those that their gateway's keys do not vouch for refused."""
        refused = {refusal.path for refusal in refusals}
        return replace(
            self,
            trusted=[file for file in self.trusted if file.path not in refused],
            any_refused=self.any_refused or bool(refused),
        )


def files_of(rows: Sequence[Mapping[str, Any]]) -> StagedFiles:
    """Return what a batch's staged files are: at most SEGMENTS_PER_BATCH_MAX, ordered by path."""
    names = ("path", "folder", "name", "gateway", "segment", "first_sequence", "last_sequence",
             "public_key", "boot", "file_sha256", "previous_sha256")  # fmt: skip
    signed = [SignedFile(*(row[name] for name in names)) for row in rows if row["reason"] is None]
    return StagedFiles(
        trusted=signed,
        any_refused=any(row["reason"] is not None for row in rows),
        any_malformed_lines=any(row["bad_lines"] != 0 for row in rows),
        lines={row["path"]: row["lines"] - row["bad_lines"] for row in rows},
        names=sorted({row["name"] for row in rows}),
        origins={row["path"]: _origin_of(row) for row in rows if row["began"] is not None},
    )


def _origin_of(row: Mapping[str, Any]) -> Origin:
    gateway, store, boot, clock = (row[name] for name in ("gateway", "store", "boot", "clock"))
    day, outline = day_of(row["began"]), outline_in(row["outline"])
    return Origin(gateway, store, boot, clock, day, outline)


def known_keys(
    tables: Tables, files: Sequence[SignedFile], pinned: Mapping[str, Pinned]
) -> list[GatewayKey]:
    """Return the rows of the gateways that these files name, by their contents or their folder."""
    folders = {folder for file in files for folder in file.folder.split("/")}
    gateways = sorted({file.gateway for file in files} | folders | set(pinned))
    sql, values = f"SELECT {', '.join(_COLUMNS)} FROM {{gateway_keys}}", dict[str, Values]()
    if len(gateways) <= GATEWAYS_NAMED_MAX:
        sql, values = f"{sql} WHERE gateway IN :gateways", {"gateways": gateways}
    return [GatewayKey(**row) for row in tables.query(sql, **values)]


def vouched(tables: Tables, files: Sequence[SignedFile]) -> list[Named]:
    """Return those of the unsigned files that a segment in the tables names as the one before it.

    An unsigned one there counts: it has been judged when its gateway's first key came.
    """
    unsigned = [file for file in files if file.public_key is None]
    hashes: list[str] = sorted({file.sha256 for file in unsigned})
    gateways: list[str] = sorted({file.gateway for file in unsigned})
    if not hashes:
        return []
    rows = tables.query(
        "SELECT gateway, previous_sha256 FROM {segments} "
        "WHERE state = 'ingested' AND gateway IN :gateways AND previous_sha256 IN :hashes",
        gateways=gateways, hashes=hashes,
    )  # fmt: skip
    return [(row["gateway"], row["previous_sha256"]) for row in rows]


def rows_of(keys: Sequence[GatewayKey], batch: int) -> list[dict[str, Any]]:
    """Return keys as rows of the table."""
    stamp = {"batch": batch, "added_at": datetime.now(UTC)}
    return [asdict(key) | stamp for key in keys]


def merge_keys(builder: Builder) -> Builder:
    """Complete a merge: a row that the keys file changes is replaced."""
    return builder.whenMatchedUpdateAll().whenNotMatchedInsertAll()


def without_refused(staged: DataFrame, refusals: Sequence[Refusal]) -> DataFrame:
    """Return the staged rows, of refused files the verdict only."""
    if not refusals:
        return staged
    marks = staged.sparkSession.createDataFrame(
        [(one.path, one.reason, one.detail) for one in refusals],
        "path string, why string, why_detail string",
    )
    marked = staged.join(F.broadcast(marks), "path", "left")
    changed = {
        "reason": F.coalesce("why", "reason"),
        "detail": F.coalesce("why_detail", "detail"),
    } | {
        name: F.when(F.col("why").isNull(), F.col(name))
        for name in ("malformed", "events", "sessions", "records")
        if name in staged.columns
    }
    return marked.withColumns(changed).select(*staged.columns)


def looked_at_again(
    tables: Tables, candidates: DataFrame, pinned: Mapping[str, Pinned]
) -> DataFrame:
    """Select the names of refused segments that may be trusted now.

    That is where the key they are signed with was added, and where a file lies in another folder.
    """
    refused = tables.read("segments").where("state = 'quarantined'")
    keys = tables.read("gateway_keys").where("NOT is_withdrawn").select("gateway", "public_key")
    if pinned:
        pairs = [(gateway, key) for gateway, pin in pinned.items() for key in pin.public_keys]
        named = tables.spark.createDataFrame(pairs, "gateway string, public_key string")
        others = keys.join(named.select("gateway").distinct(), "gateway", "left_anti")
        keys = others.unionByName(named)
    foreign = refused.where(F.col("reason") == FOREIGN_KEY)
    trusted = foreign.join(keys, ["gateway", "public_key"], "left_semi").select("name")
    misplaced = refused.where(F.col("reason") == WRONG_PREFIX).select(
        "name", F.col("path").alias("refused_path")
    )
    moved = misplaced.join(candidates.select("name", "path"), "name")
    return trusted.unionByName(moved.where("path != refused_path").select("name")).distinct()
