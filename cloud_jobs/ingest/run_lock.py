"""Lock that allows only one run at a time on a local tables directory.

A second run is refused immediately. The tables would be correct even without the lock: each write
has an application transaction, so two runs cannot execute the same step twice
(cloud_jobs.tables.delta_tables). Tables on other file systems have no lock. On S3, Delta
coordinates only the writers of one driver, so only one job may run at a time (docs/decisions/0136).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession, is_remote

from cloud_jobs.errors import IngestError, TablesBusyError
from cloud_jobs.places import local_directory


@contextmanager
def only_run(spark: SparkSession, tables: str) -> Iterator[bool]:
    """Hold the lock of the tables within the block, if the tables are local.

    Yield True if they are local, otherwise False. Raises TablesBusyError if another process holds
    the lock.
    """
    if _is_local(spark, tables):
        directory = local_directory(tables)
        assert directory is not None, tables
        with locked(directory):
            yield True
    else:
        yield False


def _is_local(spark: SparkSession, place: str) -> bool:
    """Return True if a path or URL is in the local file system.

    A path without a scheme is in Spark's default file system.
    """
    if is_remote():
        return False
    scheme = urlsplit(place).scheme
    default = spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")
    return (scheme or urlsplit(str(default)).scheme) == "file"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a directory within the block.

    The kernel releases the lock when the process ends, even after a crash. Raises TablesBusyError
    if another process holds the lock, and IngestError if the directory is not writable.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(directory / "_ingest.lock", flags, 0o640)
    except OSError as error:
        raise IngestError(
            f"cannot write to the tables directory {directory} ({error.strerror}): "
            "make it writable or name another one"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
            raise TablesBusyError(
                f"another ingest (process {holder}) is writing to {directory}: wait until it ends"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)
