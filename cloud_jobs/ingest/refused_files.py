"""Which files of a directory were refused and would be refused again, found without Spark.

`landing` asks Spark where they are elsewhere, or many. Both give the same answer.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from cloud_jobs.ingest.keys_file import Pinned
from cloud_jobs.ingest.landed_file import name_of, read_here
from cloud_jobs.ingest.trust import FOREIGN_KEY, WRONG_PREFIX
from cloud_jobs.tables.delta_tables import Tables

Refused: TypeAlias = Mapping[str, Collection[tuple[int, str | None]]]
"""By name of a segment file, the bytes and sha256 of each that was refused under it; no sha256
where it is too large to be read."""


def refused_of(tables: Tables, names: Collection[str]) -> Refused:
    """Return those of the names under which a file was refused."""
    found: defaultdict[str, set[tuple[int, str | None]]] = defaultdict(set)
    if not names:
        return found
    for rows in tables.stream(
        "SELECT segment_name, file_bytes, file_sha256 FROM {quarantine} "
        "WHERE kind = 'segment' AND segment_name BETWEEN :least AND :greatest",
        least=min(names), greatest=max(names),
    ):  # fmt: skip
        for row in rows.to_pylist():
            if row["segment_name"] in names:
                found[row["segment_name"]].add((row["file_bytes"], row["file_sha256"]))
    return found


def still_refused(
    tables: Tables, paths: Sequence[str], refused: Refused, pinned: Mapping[str, Pinned]
) -> set[str]:
    """Return the paths that need not be looked at: their bytes are those that were refused, and so
    are the keys by which they were. Raises IngestError."""
    again = _looked_at_again(tables, paths, pinned)
    names = ((path, name_of(path)) for path in paths)
    return {path for path, name in names if name not in again and _bytes_of(path) in refused[name]}


def _bytes_of(path: str) -> tuple[int, str | None]:
    """Return bytes and sha256 of a file, as `Refused` has them.

    Times are not trusted: a good copy may be as long and as old as the bad one.
    """
    size, content = read_here(path)
    return size, None if content is None else hashlib.sha256(content).hexdigest()


def _looked_at_again(
    tables: Tables, paths: Sequence[str], pinned: Mapping[str, Pinned]
) -> set[str]:
    """Return the names that may be trusted now: the key they are signed with was added, or the file
    lies in another folder."""
    names: list[str] = sorted({*map(name_of, paths)})
    rows = tables.query(
        "SELECT name, gateway, public_key, reason, path FROM {segments} "
        "WHERE state = 'quarantined' AND reason IN :reasons AND name IN :names",
        reasons=[FOREIGN_KEY, WRONG_PREFIX], names=names,
    )  # fmt: skip
    foreign = [row for row in rows if row["reason"] == FOREIGN_KEY]
    gateways: list[str] = sorted({row["gateway"] for row in foreign})
    keys = tables.query(
        "SELECT gateway, public_key FROM {gateway_keys} "
        "WHERE NOT is_withdrawn AND gateway IN :gateways",
        gateways=gateways,
    )
    known = {(row["gateway"], row["public_key"]) for row in keys}
    others = {row["name"]: row["path"] for row in rows if row["reason"] == WRONG_PREFIX}
    moved = {name_of(path) for path in paths if others.get(name_of(path), path) != path}
    return moved | {row["name"] for row in foreign if _is_trusted(row, known, pinned)}


def _is_trusted(
    row: Mapping[str, Any], known: Collection[tuple[str, str]], pinned: Mapping[str, Pinned]
) -> bool:
    gateway, key = row["gateway"], row["public_key"]
    return key in pinned[gateway].public_keys if gateway in pinned else (gateway, key) in known
