"""The commit that adds data files to a Delta table, by the library `deltalake`, without Spark.

Spark's own writer takes 25 microseconds for a row of `events`, Arrow's half of one. What is
committed is the same: files with statistics, and the batch's application transaction.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import Row, is_remote

from cloud_jobs.errors import LINE_CHARACTERS_MAX, ConflictError, IngestError
from cloud_jobs.places import local_directory

if TYPE_CHECKING:
    from deltalake import DeltaTable

Added: TypeAlias = Row | Mapping[str, Any]
"""A row of ADDED (cloud_jobs.tables.data_files)."""
WRITER_VERSION_MAX: Final = 2
"""Of Delta's protocol, that of a table as this job makes it: later ones have constraints to check,
and lists of features."""
_CONFLICT: Final = "Concurrent transaction"
"""In the text of the error where another writer has committed this application transaction."""
_DRAWN: Final = re.compile(r"\x1b\[[0-9;]*m|\u21b3")


def writable(path: str) -> DeltaTable | None:
    """Open a table to which workers may add files beside Spark's. Raises IngestError.

    Else None: object stores have credentials that Spark alone knows, a Spark elsewhere has another
    file system, and features that an operator gave a table may ask more of a writer than files
    with statistics.
    """
    folder = _local(path)
    if folder is None or not (folder / "_delta_log").is_dir():
        return None
    from deltalake import DeltaTable  # noqa: PLC0415 - 0.1 s that other commands do not need

    with explained(path):
        table = DeltaTable(folder)
    return table if table.protocol().min_writer_version <= WRITER_VERSION_MAX else None


def folder_of(table: DeltaTable) -> Path:
    """Return the folder of a table that is writable."""
    folder = local_directory(table.table_uri)
    assert folder is not None, table.table_uri
    return folder


def _local(path: str) -> Path | None:
    return None if is_remote() else local_directory(path)


def is_table(path: str) -> bool | None:
    """Return whether a commit has made a table in a folder; None where only Spark knows."""
    folder = _local(path)
    return None if folder is None else any((folder / "_delta_log").glob("*.json"))


def has_seen(table: DeltaTable, application: str, version: int) -> bool:
    """Return whether an application transaction of this version, or a later one, is committed."""
    seen = table.transaction_version(application)
    return seen is not None and seen >= version


def add(
    table: DeltaTable, files: Iterable[Added], application: str, version: int, metadata: str
) -> None:
    """Add files (rows of ADDED) in one commit. Raises what `explained` explains."""
    from deltalake.transaction import (  # noqa: PLC0415 - likewise
        AddAction,
        CommitProperties,
        RemoveAction,
        Transaction,
    )

    now = round(time.time() * 1000)
    actions: list[AddAction | RemoveAction] = [
        AddAction(
            path=file["path"],
            size=file["bytes"],
            partition_values={"day": file["day"].isoformat()} if file["day"] else {},
            modification_time=now,
            data_change=True,
            stats=file["statistics"],
        )
        for file in files
    ]
    properties = CommitProperties(
        custom_metadata={"userMetadata": metadata},
        app_transactions=[Transaction(application, version)],
    )
    table.create_write_transaction(
        actions,
        "append",
        table.schema(),
        table.metadata().partition_columns,
        commit_properties=properties,
    )


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Raise what the library and the disk report as errors of this job's: ConflictError where
    another writer has committed the same transaction, else IngestError."""
    from deltalake.exceptions import DeltaError  # noqa: PLC0415 - likewise

    try:
        yield
    except (DeltaError, OSError) as error:
        kind = ConflictError if _CONFLICT in str(error) else IngestError
        # The library draws its causes as a tree, in colours.
        detail = " ".join(_DRAWN.sub(" ", str(error)).split())[:LINE_CHARACTERS_MAX]
        raise kind(
            f"the table {path} cannot be committed to: {detail} (nothing is lost: make room if its "
            "disk is full, then run it again)"
        ) from error
