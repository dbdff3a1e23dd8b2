"""At most one run at a time on a local tables directory; a second one is refused immediately.

What keeps two runs from doing a step twice is the application transaction of each write
(cloud_jobs.tables.delta_tables). On an object store this lock does nothing, and on S3 Delta keeps
apart only the writers of one driver: one job at a time there (docs/decisions/0136).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from cloud_jobs.errors import IngestError, TablesBusyError
from cloud_jobs.places import local_directory


@contextmanager
def only_run(tables: str) -> Iterator[None]:
    """Hold the lock of a local tables directory. Raises IngestError when another process has it.

    The kernel releases it when the process ends, however it ends.
    """
    directory = local_directory(tables)
    if directory is None:
        yield
        return
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
