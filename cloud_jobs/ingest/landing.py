"""Lists the landed (uploaded) files that must be examined.

The contents of files are not read. A file is not examined if the table `segments` contains its name
with a final state. A file in quarantine is examined again if its bytes have changed, or if the keys
that led to its refusal have changed (`refused_files`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.keys_file import NO_KEYS, Pinned
from cloud_jobs.ingest.known_rows import KnownRows, files_to_examine
from cloud_jobs.ingest.landed_file import Landed, name_of
from cloud_jobs.ingest.refused_files import binary_files, still_refused
from cloud_jobs.limits import LISTED_MAX, SEGMENT_FILE_BYTES_MAX
from cloud_jobs.places import absolute
from cloud_jobs.tables.delta_tables import Tables

SETTLED: Final = ("ingested", "duplicate")
KNOWN_FILES: Final = (
    "SELECT name, state, reason, gateway, public_key, path AS refused_path FROM {segments}"
)


@dataclass(frozen=True, slots=True)
class Listing:
    """Result of a listing: the paths of the files to examine.

    `more` is True if there were more files than the limit allows. `ignored` is the number of files
    whose names are not segment names.
    """

    paths: list[str]
    more: bool
    ignored: int


def list_landed(
    tables: Tables,
    source: str,
    pinned: Mapping[str, Pinned] = NO_KEYS,
    known: KnownRows | None = None,
) -> Listing:
    """List at most LISTED_MAX files that must be examined, ordered by name.

    `known` contains rows of the table `segments` that are kept in memory. If it is None, Spark is
    queried.
    """
    paths = _paths_in(tables.spark, source)
    # Uploaders first write under another name. Such a file is not a segment yet, and not lost.
    segments = [path for path in paths if path.endswith(".zst")]
    if known is not None and known.load() is not None:
        found = files_to_examine(known.query(KNOWN_FILES), segments, SETTLED)
    else:
        found = _not_settled(tables, segments) if segments else []
    refused_paths = still_refused(
        tables, [row for row in found if row["state"] is not None], pinned
    )
    waiting = [row["path"] for row in found if row["path"] not in refused_paths]
    waiting.sort(key=lambda path: (name_of(path), path))
    return Listing(
        waiting[:LISTED_MAX], len(waiting) > LISTED_MAX, ignored=len(paths) - len(segments)
    )


def _paths_in(spark: SparkSession, source: str) -> list[str]:
    """Return the paths of all files below the source, in the form of Spark's column `path`.

    Raises IngestError if the source does not exist.
    """
    try:
        urls = binary_files(spark, [absolute(source)]).inputFiles()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise IngestError(
            f"nothing to ingest: {source} does not exist; let the gateway upload something, "
            "or name the directory that it uploads to"
        ) from error
    # The column `path` has one slash where the URL of a local file has three.
    return [re.sub("^file:///", "file:/", unquote(url)) for url in urls]


def _not_settled(tables: Tables, paths: list[str]) -> list[dict[str, Any]]:
    """Return the files that must be examined, each with its path and columns from `segments`.

    If a file is new, its columns from `segments` are None.
    """
    names = [name_of(path) for path in paths]
    named = tables.spark.createDataFrame(pa.table({"path": paths, "name": names}))
    known = tables.read("segments").select(
        "name", "state", "reason", "gateway", "public_key", F.col("path").alias("refused_path")
    )
    # Delta skips the files of all other names.
    near = known.where((F.col("name") >= min(names)) & (F.col("name") <= max(names)))
    is_open = F.col("state").isNull() | ~F.col("state").isin(*SETTLED)
    found: list[dict[str, Any]] = (
        named.join(near, "name", "left").where(is_open).toArrow().to_pylist()
    )
    return found


def contents_of(spark: SparkSession, paths: list[str]) -> tuple[list[Landed], DataFrame]:
    """Return the files with their sizes, and a DataFrame with their contents.

    The DataFrame has the columns `path`, `length` and `content`. `content` is null for a file that
    is too large.
    """
    found = binary_files(spark, paths)
    sizes = {
        row["path"]: row["length"] for row in found.select("path", "length").toArrow().to_pylist()
    }
    # Spark lists empty files but omits them from the rows.
    files = [Landed(path, sizes.get(path, 0)) for path in paths]
    contents = found.select("path", "length", "content")
    # The content of a file that is too large is not read.
    small = contents.where(F.col("length") <= SEGMENT_FILE_BYTES_MAX)
    others = [
        (file.path, file.file_bytes, None if file.file_bytes else b"")
        for file in files
        if not 0 < file.file_bytes <= SEGMENT_FILE_BYTES_MAX
    ]
    if not others:
        return files, small
    rows = spark.createDataFrame(others, "path string, length long, content binary")
    return files, small.unionByName(rows) if len(others) < len(files) else rows
