"""What has landed, and which of it must be looked at.

Listing reads no contents, and a local directory is listed without Spark. A file is looked at when
its name is not settled in `segments`, and again when it was in quarantine and its bytes are no
longer those that were refused, or the keys by which it was refused have changed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.gateway_keys import looked_at_again
from cloud_jobs.ingest.keys_file import NO_KEYS, Pinned
from cloud_jobs.ingest.landed_file import LOCAL, Landed, name_of
from cloud_jobs.ingest.refused_files import refused_of, still_refused
from cloud_jobs.limits import (
    LISTED_MAX,
    REFUSED_REMEMBERED_MAX,
    SEGMENT_FILE_BYTES_MAX,
)
from cloud_jobs.places import local_directory
from cloud_jobs.tables.delta_tables import Tables

SETTLED: Final = ("verified", "ingested", "duplicate")
_GLOB_CHARACTERS: Final = frozenset("{}[]*?\\")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files to look at, whether more wait, and how many files are no segments by their name."""

    paths: list[str]
    more: bool
    ignored: int


def _literal(path: str) -> str:
    """Escape a path, so that Hadoop's glob matches it alone: file names are not patterns."""
    return "".join(f"\\{c}" if c in _GLOB_CHARACTERS else c for c in path)


def binary_files(spark: SparkSession, paths: list[str]) -> DataFrame:
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.load([_literal(path) for path in paths])


def list_landed(tables: Tables, source: str, pinned: Mapping[str, Pinned] = NO_KEYS) -> Listing:
    """List files that must be looked at, in order of their names, at most LISTED_MAX of them."""
    paths = _paths_in(tables, source)
    # Uploaders write under another name first; such a file is no loss and not yet a segment.
    segments = [path for path in paths if path.endswith(".zst")]
    waiting = _without_settled(tables, segments) if segments else []
    if waiting:
        waiting = _without_refused(tables, waiting, pinned)
    waiting.sort(key=lambda path: (name_of(path), path))
    return Listing(
        waiting[:LISTED_MAX], len(waiting) > LISTED_MAX, ignored=len(paths) - len(segments)
    )


def sized(tables: Tables, paths: list[str]) -> list[Landed]:
    """Return listed files with their bytes, which an object store is asked for one by one."""
    if all(path.startswith(LOCAL) for path in paths):
        return [Landed(path, os.stat(path.removeprefix(LOCAL)).st_size) for path in paths]
    rows = binary_files(tables.spark, paths).select("path", "length").collect()
    # Spark lists empty files and then leaves them out.
    found = {row["path"]: row["length"] for row in rows}
    return [Landed(path, found.get(path, 0)) for path in paths]


def _paths_in(tables: Tables, source: str) -> list[str]:
    """Return all files, as Spark names them in the column `path`. Raises IngestError."""
    directory = local_directory(source)
    if directory is not None:
        if not directory.is_dir():
            raise _nothing_at(source)
        return _files_below(str(directory.absolute()))
    try:
        urls = binary_files(tables.spark, [source]).inputFiles()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise _nothing_at(source) from error
    return [unquote(url) for url in urls]


def _files_below(directory: str) -> list[str]:
    """Walk a local directory: what Spark passes over is passed over, links are followed once."""
    found: list[str] = []
    waiting, seen = [directory], set()
    while waiting:
        folder = waiting.pop()
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith((".", "_")):
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                elif entry.is_file():
                    found.append(LOCAL + entry.path)
    return found


def _nothing_at(source: str) -> IngestError:
    return IngestError(
        f"nothing to ingest: {source} does not exist; let the gateway upload something, "
        "or name the directory that it uploads to"
    )


def _named(spark: SparkSession, paths: list[str]) -> DataFrame:
    names = [name_of(path) for path in paths]
    return spark.createDataFrame(pa.table({"path": paths, "name": names}))


def _without_settled(tables: Tables, paths: list[str]) -> list[str]:
    names = {*map(name_of, paths)}
    # Delta skips the files of all other names.
    near = {"least": min(names), "greatest": max(names)}
    if not tables.is_local("segments"):
        settled = tables.read("segments").where(F.col("state").isin(*SETTLED))
        known = settled.where(F.col("name").between(*near.values())).select("name")
        rows = _named(tables.spark, paths).join(known, "name", "left_anti").select("path").collect()
        return [row["path"] for row in rows]
    for known in tables.stream(
        "SELECT name FROM {segments} WHERE state IN :settled AND name BETWEEN :least AND :greatest",
        settled=SETTLED, **near,
    ):  # fmt: skip
        names.difference_update(known.column("name").to_pylist())
    return [path for path in paths if name_of(path) in names]


def _without_refused(tables: Tables, paths: list[str], pinned: Mapping[str, Pinned]) -> list[str]:
    """Leave out what was refused and would be refused again."""
    if tables.is_local("quarantine") and all(path.startswith(LOCAL) for path in paths):
        of_names = refused_of(tables, {*map(name_of, paths)})
        among = [path for path in paths if name_of(path) in of_names]
        if len(among) <= REFUSED_REMEMBERED_MAX:
            left_out = still_refused(tables, among, of_names, pinned)
            return [path for path in paths if path not in left_out]
    refused = _refused(tables)
    named = _named(tables.spark, paths).join(refused, "name", "left_semi").select("path").collect()
    if not named:
        return paths
    touched = {row["path"] for row in named}
    sizes = sized(tables, sorted(touched))
    open_files = tables.spark.createDataFrame(
        [(file.path, name_of(file.path), file.file_bytes) for file in sizes],
        "path string, name string, file_bytes long",
    )
    refused = refused.join(looked_at_again(tables, open_files, pinned), "name", "left_anti")
    fresh = open_files.join(refused.select("name").distinct(), "name", "left_anti")
    again = _changed(tables.spark, open_files.join(refused, "name", "left_semi"), refused)
    rows = fresh.select("path").unionByName(again.select("path")).collect()
    return [path for path in paths if path not in touched] + [row["path"] for row in rows]


def _refused(tables: Tables) -> DataFrame:
    segments = tables.read("quarantine").where("kind = 'segment'")
    return segments.select(F.col("segment_name").alias("name"), "file_sha256", "file_bytes")


def refused_among(
    tables: Tables, names: Collection[str]
) -> dict[str, list[tuple[int, str | None]]] | None:
    """Those of the names that are not settled, with bytes and sha256 of each file that was refused.

    None where one of them was not looked at, or where they are more than REFUSED_REMEMBERED_MAX.
    """
    open_names = {*_without_settled(tables, [*names])} if names else {*names}
    if len(open_names) > REFUSED_REMEMBERED_MAX:
        return None
    if not open_names:
        return {}
    found = refused_of(tables, open_names)
    return {name: [*of] for name, of in found.items()} if {*found} == open_names else None


def _changed(spark: SparkSession, candidates: DataFrame, refused: DataFrame) -> DataFrame:
    """Select refused names whose bytes have changed. Times are not trusted: a good copy may be as
    long and as old as the bad one, so the bytes are hashed again (what is too large is not)."""
    found = [row["path"] for row in candidates.select("path").collect()]
    if not found:
        return candidates
    contents = binary_files(spark, found).where(F.col("length") <= SEGMENT_FILE_BYTES_MAX)
    hashes = contents.select("path", F.sha2("content", 256).alias("file_sha256"))
    known = refused.withColumnRenamed("file_sha256", "known_sha256")
    of_nothing = F.when(F.col("file_bytes") == 0, F.sha2(F.lit(b""), 256))
    hashed = (
        candidates.join(hashes, "path", "left")
        .withColumn("file_sha256", F.coalesce("file_sha256", of_nothing))
        .alias("found")
    )
    unchanged = hashed.join(
        known.alias("known"),
        F.expr(
            "found.name = known.name AND found.file_bytes = known.file_bytes "
            "AND found.file_sha256 <=> known.known_sha256"
        ),
        "left_anti",
    )
    return unchanged.select(*candidates.columns)
