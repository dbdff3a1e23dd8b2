"""Measures a disk's fsync time, with the access pattern of SQLite's write-ahead log.

A commit appends frames of one page each to the log and calls fdatasync. When the log is full,
writing continues at its start, so most commits do not change the file's size or metadata. The
latencies of durable brokers are compared with this time, because no durable broker can be faster.
"""

import os
import time
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from gateway.tools.bench.latency import Samples

PAGE_FRAME_BYTES: Final = 24 + 4_096
"""Bytes of a header and a page in SQLite's write-ahead log."""

FRAMES_A_COMMIT: Final = 2
"""Frames per commit. The smallest possible commit changes the page of a row, and its parent
page."""

LOG_BYTES: Final = 1_000 * PAGE_FRAME_BYTES
"""Bytes after which writing restarts at the beginning, as with SQLite's wal_autocheckpoint."""

COMMITS: Final = 500


def fsync_percentiles_ms(directory: Path, commits: int = COMMITS) -> dict[str, float]:
    """Measure how long commits take on the file system that contains `directory`.

    Return percentiles of the time per commit in milliseconds.
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
