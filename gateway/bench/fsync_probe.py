"""How long one fsync of a disk takes, done the way SQLite's write-ahead log does it.

A commit appends frames of one page each to the log and calls fdatasync; when the log is full,
writing begins again at its start, so that most commits change no size and no metadata. This is the
measure that durable latencies are held against: no broker that is durable can be faster.
"""

import os
import time
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from gateway.bench.latency import Samples

PAGE_FRAME_BYTES: Final = 24 + 4_096
"""Header and page of SQLite's write-ahead log."""

FRAMES_A_COMMIT: Final = 2
"""A row in a table with one page to change, and the page above it: the least a commit is."""

LOG_BYTES: Final = 1_000 * PAGE_FRAME_BYTES
"""Where writing begins again: SQLite's wal_autocheckpoint."""

COMMITS: Final = 500


def fsync_percentiles_ms(directory: Path, commits: int = COMMITS) -> dict[str, float]:
    """Return the milliseconds of one commit on the file system of `directory`, by percentile.

    Raises OSError.
    """
    samples = Samples()
    data = os.urandom(PAGE_FRAME_BYTES * FRAMES_A_COMMIT)
    with NamedTemporaryFile(prefix="oncegate-bench-", dir=directory) as file:
        descriptor = file.fileno()
        for offset in range(0, LOG_BYTES, len(data)):
            os.pwrite(descriptor, data, offset)
        os.fsync(descriptor)
        for commit in range(commits):
            before = time.perf_counter()
            os.pwrite(descriptor, data, commit * len(data) % LOG_BYTES)
            os.fdatasync(descriptor)
            samples.add(time.perf_counter() - before)
    return samples.percentiles_ms()
