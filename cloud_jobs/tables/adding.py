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

import pyarrow as pa
from pyspark.sql import Row, is_remote

from cloud_jobs.errors import LINE_CHARACTERS_MAX, ConflictError, IngestError
from cloud_jobs.places import local_directory

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

Added: TypeAlias = Row | Mapping[str, Any]
"""A row of ADDED (cloud_jobs.tables.data_files)."""
WRITER_VERSION_MAX: Final = 2
"""Of Delta's protocol, that of a table as this job makes it: later ones have constraints to check,
and lists of features."""
_CONFLICT: Final = re.compile("concurrent transaction", re.IGNORECASE)
"""In the text of the error where another writer has committed at the same time."""
_DRAWN: Final = re.compile(r"\x1b\[[0-9;]*m|\u21b3")


def writable(path: str) -> DeltaTable | None:
    """Open a table to which workers may add files beside Spark's. Raises IngestError.

    Else None: see `opened`, and features that an operator gave a table may ask more of a writer
    than files with statistics.
    """
    table = opened(path)
    if table is None or table.protocol().min_writer_version > WRITER_VERSION_MAX:
        return None
    return table


def opened(path: str) -> DeltaTable | None:
    """Open a table as it is now. Raises IngestError.

    None where it is in no directory of this machine's: object stores have credentials that Spark
    alone knows, and a Spark elsewhere has another file system.
    """
    folder = local_folder(path)
    if folder is None or not any((folder / "_delta_log").glob("*.json")):
        return None
    from deltalake import DeltaTable  # noqa: PLC0415 - 0.1 s that other commands do not need

    with explained(path):
        return DeltaTable(folder)


def folder_of(table: DeltaTable) -> Path:
    """Return the folder of a table that is writable."""
    folder = local_directory(table.table_uri)
    assert folder is not None, table.table_uri
    return folder


def local_folder(path: str) -> Path | None:
    """Return the folder of this machine that a table has; None where only Spark knows it."""
    return None if is_remote() else local_directory(path)


def has_seen(table: DeltaTable, application: str, version: int) -> bool:
    """Return whether an application transaction of this version, or a later one, is committed."""
    seen = table.transaction_version(application)
    return seen is not None and seen >= version


def add(
    table: DeltaTable, files: Iterable[Added], application: str, version: int, metadata: str
) -> None:
    """Add files (rows of ADDED) in one commit. Raises what `explained` explains."""
    table.create_write_transaction(
        [*_actions_of(files)],
        "append",
        table.schema(),
        table.metadata().partition_columns,
        commit_properties=properties_of(application, version, metadata),
    )


def make(path: str, schema: pa.Schema, files: Iterable[Added]) -> bool:
    """Make a table of files, in its first commit; False where there is one. Raises IngestError."""
    from deltalake import Schema  # noqa: PLC0415 - likewise
    from deltalake.exceptions import DeltaError  # noqa: PLC0415 - likewise
    from deltalake.transaction import create_table_with_add_actions  # noqa: PLC0415 - likewise

    with explained(path):
        try:
            create_table_with_add_actions(
                path, Schema.from_arrow(schema), [*_actions_of(files)], mode="error"
            )
        except DeltaError:
            if opened(path) is None:
                raise
            return False
    return True


def _actions_of(files: Iterable[Added]) -> Iterator[AddAction]:
    from deltalake.transaction import AddAction  # noqa: PLC0415 - likewise

    now = round(time.time() * 1000)
    for file in files:
        yield AddAction(
            path=file["path"],
            size=file["bytes"],
            partition_values={"day": file["day"].isoformat()} if file["day"] else {},
            modification_time=now,
            data_change=True,
            stats=file["statistics"],
        )


def properties_of(application: str, version: int, metadata: str | None) -> CommitProperties:
    """Return what a commit has beside its files: its application transaction, user metadata."""
    from deltalake.transaction import CommitProperties, Transaction  # noqa: PLC0415 - likewise

    return CommitProperties(
        custom_metadata=None if metadata is None else {"userMetadata": metadata},
        app_transactions=[Transaction(application, version)],
    )


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Raise what the library and the disk report as errors of this job's: ConflictError where
    another writer has committed the same transaction, else IngestError."""
    from deltalake.exceptions import DeltaError  # noqa: PLC0415 - likewise

    try:
        yield
    except (DeltaError, OSError) as error:
        kind = ConflictError if _CONFLICT.search(str(error)) else IngestError
        # The library draws its causes as a tree, in colours.
        detail = " ".join(_DRAWN.sub(" ", str(error)).split())[:LINE_CHARACTERS_MAX]
        raise kind(
            f"the table {path} cannot be read or committed to: {detail} (nothing is lost: make "
            "room if its disk is full, then run it again)"
        ) from error
