"""What has landed, and which of it must be looked at.

Listing reads no contents. A file is looked at when its name is not settled in `segments`, and
again when it was in quarantine and its bytes are no longer those that were refused, or the keys by
which it was refused have changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.gateway_keys import looked_at_again
from cloud_jobs.ingest.keys_file import NO_KEYS, Pinned
from cloud_jobs.limits import (
    REFUSED_REMEMBERED_MAX,
    SEGMENT_FILE_BYTES_MAX,
    SEGMENTS_PER_BATCH_MAX,
)
from cloud_jobs.tables.delta_tables import Tables

SETTLED: Final = ("verified", "ingested", "duplicate")
_GLOB_CHARACTERS: Final = frozenset("{}[]*?\\")


@dataclass(frozen=True, slots=True)
class Landed:
    """A file to look at."""

    path: str
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The next batch's files, whether more wait, and how many files are no segments by their
    name."""

    files: list[Landed]
    more: bool
    ignored: int


def _literal(path: str) -> str:
    """Escape a path, so that Hadoop's glob matches it alone: file names are not patterns."""
    return "".join(f"\\{c}" if c in _GLOB_CHARACTERS else c for c in path)


def binary_files(spark: SparkSession, paths: list[str]) -> DataFrame:
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.load([_literal(path) for path in paths])


def list_landed(tables: Tables, source: str, pinned: Mapping[str, Pinned] = NO_KEYS) -> Listing:
    """List files that must be looked at, in order of their names, at most one batch of them."""
    try:
        found = binary_files(tables.spark, [source])
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise IngestError(
            f"nothing to ingest: {source} does not exist; let the gateway upload something, "
            "or name the directory that it uploads to"
        ) from error
    name = F.substring_index("path", "/", -1)
    listed = found.select("path", F.col("length").alias("file_bytes"))
    # Listed names are URLs with three slashes, the column has Hadoop's paths with one.
    paths = [re.sub("^file:///", "file:/", unquote(url)) for url in found.inputFiles()]
    files = listed.unionByName(_empty_files(found, paths)).withColumn("name", name)
    # Uploaders write under another name first; such a file is no loss and not yet a segment.
    segments = files.where(F.col("name").endswith(".zst"))
    settled = tables.read("segments").where(F.col("state").isin(*SETTLED)).select("name")
    open_files = segments.join(settled, "name", "left_anti")
    open_files = _without_refused(tables, open_files, pinned)
    chosen = open_files.orderBy("name", "path").limit(SEGMENTS_PER_BATCH_MAX + 1)
    rows = [Landed(row["path"], row["file_bytes"]) for row in chosen.collect()]
    ignored = sum(not path.endswith(".zst") for path in paths)
    more = len(rows) > SEGMENTS_PER_BATCH_MAX
    return Listing(rows[:SEGMENTS_PER_BATCH_MAX], more, ignored)


def _empty_files(found: DataFrame, paths: list[str]) -> DataFrame:
    """List the empty files, which also landed: Spark lists them and then leaves them out."""
    listed = found.sparkSession.createDataFrame([(path,) for path in paths], "path string")
    empty = listed.join(found.select("path"), "path", "left_anti")
    return empty.withColumn("file_bytes", F.lit(0).cast("long"))


def _without_refused(
    tables: Tables, open_files: DataFrame, pinned: Mapping[str, Pinned]
) -> DataFrame:
    """Leave out what was refused and would be refused again."""
    refused = _refused(tables)
    # Most listings have none: what follows reads three tables again to find that out.
    if open_files.join(refused, "name", "left_semi").isEmpty():
        return open_files
    refused = refused.join(looked_at_again(tables, open_files, pinned), "name", "left_anti")
    fresh = open_files.join(refused.select("name").distinct(), "name", "left_anti")
    again = _changed(tables.spark, open_files.join(refused, "name", "left_semi"), refused)
    return fresh.unionByName(again)


def _refused(tables: Tables) -> DataFrame:
    segments = tables.read("quarantine").where("kind = 'segment'")
    return segments.select(F.col("segment_name").alias("name"), "file_sha256", "file_bytes")


def refused_among(
    tables: Tables, names: Collection[str]
) -> dict[str, list[tuple[int, str | None]]] | None:
    """Those of the names that are not settled, with bytes and sha256 of each file that was refused.

    None where one of them was not looked at, or where they are more than REFUSED_REMEMBERED_MAX.
    """
    settled = tables.read("segments").where(F.col("state").isin(*SETTLED)).select("name")
    open_names = {*names} - {row["name"] for row in settled.collect()}
    if len(open_names) > REFUSED_REMEMBERED_MAX:
        return None
    found: dict[str, list[tuple[int, str | None]]] = {}
    for row in _refused(tables).where(F.col("name").isin(*open_names)).collect():
        found.setdefault(row["name"], []).append((row["file_bytes"], row["file_sha256"]))
    return found if {*found} == open_names else None


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
