"""Finds refused files that would be refused again if they were examined now."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.ingest.keys_file import Pinned
from cloud_jobs.ingest.landed_file import name_of
from cloud_jobs.ingest.trust import FOREIGN_KEY, WRONG_PREFIX
from cloud_jobs.limits import SEGMENT_FILE_BYTES_MAX
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.sql import Queryable

_GLOB_CHARACTERS: Final = frozenset("{}[]*?\\")
_Bytes: TypeAlias = tuple[int, str | None]
"""Size in bytes and SHA-256 of a file. The SHA-256 is None if the file is too large to read."""
File: TypeAlias = Mapping[str, Any]
"""A landed file (`path`), and the columns of `segments` that describe its refusal: `reason`,
`gateway`, `public_key` and `refused_path`."""


def binary_files(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Read the given files, and all files below the given directories.

    The columns are those of Spark's data source for binary files.
    """
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.load([_literal(path) for path in paths])


def _literal(path: str) -> str:
    """Escape a path for Hadoop, which would otherwise interpret it as a glob pattern."""
    return "".join(f"\\{c}" if c in _GLOB_CHARACTERS else c for c in path)


def still_refused(
    tables: Tables, files: Sequence[File], pinned: Mapping[str, Pinned]
) -> frozenset[str]:
    """Return the paths of files that need not be examined, because they would be refused again.

    The bytes of these files, and the keys that matter for them, are the same as when they were
    refused.
    """
    waiting = judged_as_before(tables, files, pinned)
    if not waiting:
        return frozenset()
    refused = _refused_under(tables, {name_of(path) for path in waiting})
    known = [path for path in waiting if name_of(path) in refused]
    found = bytes_of(tables.spark, known) if known else {}
    return frozenset(path for path in known if found[path] in refused[name_of(path)])


def _refused_under(tables: Tables, names: Collection[str]) -> Mapping[str, Collection[_Bytes]]:
    """Return the sizes and hashes of refused files with these names, keyed by name."""
    found: defaultdict[str, set[_Bytes]] = defaultdict(set)
    named = tables.spark.createDataFrame(pa.table({"segment_name": sorted(names)}))
    name = F.col("segment_name")
    near = (name >= min(names)) & (name <= max(names))
    refused = tables.read("quarantine").where((F.col("kind") == "segment") & near)
    rows = refused.join(named, "segment_name", "left_semi")
    for row in rows.select("segment_name", "file_bytes", "file_sha256").toArrow().to_pylist():
        found[row["segment_name"]].add((row["file_bytes"], row["file_sha256"]))
    return found


def bytes_of(spark: SparkSession, paths: Sequence[str]) -> dict[str, _Bytes]:
    """Return the size and the SHA-256 of each file.

    Modification times are not used, because a valid copy may have the same size and time as a
    damaged file.
    """
    files = binary_files(spark, [*paths]).select("path", "length", "content")
    small = files.where(F.col("length") <= SEGMENT_FILE_BYTES_MAX)
    hashes = small.select("path", "length", F.sha2("content", 256).alias("sha256"))
    found: dict[str, _Bytes] = {
        row["path"]: (row["length"], row["sha256"]) for row in hashes.toArrow().to_pylist()
    }
    others = [path for path in paths if path not in found]
    if others:
        large = binary_files(spark, others).select("path", "length").toArrow().to_pylist()
        # Spark lists empty files but omits them from the rows.
        found |= dict.fromkeys(others, (0, hashlib.sha256(b"").hexdigest()))
        found |= {row["path"]: (row["length"], None) for row in large}
    return found


def judged_as_before(
    tables: Queryable, files: Sequence[File], pinned: Mapping[str, Pinned]
) -> list[str]:
    """Return the paths of files that would be refused again if their bytes have not changed.

    Two kinds of files are omitted: files that were refused because of their folder and are now in
    another folder, and files that were refused because of their key and would now be accepted.
    """
    foreign = [file for file in files if file["reason"] == FOREIGN_KEY]
    known = _keys_of(tables, {file["gateway"] for file in foreign}) if foreign else set()

    def is_judged_again(file: File) -> bool:
        if file["reason"] == WRONG_PREFIX:
            return bool(file["path"] != file["refused_path"])
        return file["reason"] == FOREIGN_KEY and _is_trusted(file, known, pinned)

    again = {name_of(file["path"]) for file in files if is_judged_again(file)}
    return [file["path"] for file in files if name_of(file["path"]) not in again]


def _keys_of(tables: Queryable, gateways: Collection[str]) -> set[tuple[str, str]]:
    rows = tables.query(
        "SELECT gateway, public_key FROM {gateway_keys} "
        "WHERE NOT is_withdrawn AND gateway IN :gateways",
        gateways=[*gateways],
    )
    return {(row["gateway"], row["public_key"]) for row in rows}


def _is_trusted(
    file: File, known: Collection[tuple[str, str]], pinned: Mapping[str, Pinned]
) -> bool:
    gateway, key = file["gateway"], file["public_key"]
    return key in pinned[gateway].public_keys if gateway in pinned else (gateway, key) in known
