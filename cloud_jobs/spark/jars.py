"""The jars of Delta Lake and of the S3 client: their names, hashes and download.

At the first start Spark's own resolver downloads the jars from Maven Central. The files are checked
against the SHA-256 hashes in this module. Every later start passes the files to Spark directly and
needs no network. If several processes need the jars, one process downloads them and the others
wait, because the resolver does not support concurrent downloads to one directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cloud_jobs.errors import IngestError
from cloud_jobs.spark import s3_jars

S3_SCHEMES: Final = frozenset({"s3", "s3a"})

PACKAGE: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"

EXCLUDES: Final = ",".join(
    # PySpark contains all excluded ones. A second copy on the class path can only cause conflicts.
    f"{group}:*"
    for group in (
        "com.fasterxml.jackson.*",
        "com.github.luben",
        "com.google.*",
        "commons-pool",
        "io.airlift",
        "javax.*",
        "org.apache.*",
        "org.locationtech.*",
        "org.roaringbitmap",
        "org.slf4j",
        "org.xerial.*",
    )
)

JARS: Final = {
    "io.delta_delta-kernel-api-4.4.0.jar": (
        "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11"
    ),
    "io.delta_delta-kernel-defaults-4.4.0.jar": (
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b"
    ),
    "io.delta_delta-kernel-unitycatalog-4.4.0.jar": (
        "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa"
    ),
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar": (
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"
    ),
    "io.delta_delta-storage-4.4.0.jar": (
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"
    ),
    "io.unitycatalog_unitycatalog-client-0.6.0.jar": (
        "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19"
    ),
    "io.unitycatalog_unitycatalog-hadoop-0.6.0.jar": (
        "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150"
    ),
}
"""Name of each file as Spark's resolver stores it, and its SHA-256."""


def cache_directory(chosen: Path | None) -> Path:
    """Return the directory for jars and Spark's log: `chosen`, or a default in the user's cache."""
    if chosen is not None:
        return chosen.expanduser().absolute()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "oncegate" / "spark"


@dataclass(frozen=True, slots=True)
class Needed:
    """The jars that a run needs, and the packages from which Spark's resolver downloads them."""

    packages: tuple[str, ...]
    excludes: str
    files: Mapping[str, str]
    """Name and SHA-256 of each jar."""

    @property
    def megabytes(self) -> int:
        """Size of the jars that are downloaded at the first start, in megabytes."""
        return 13 if len(self.packages) == 1 else 26


def needed_for(places: Iterable[str]) -> Needed:
    """Return the jars needed to read and write tables and segments at `places` (paths and URLs)."""
    if any(urlsplit(place).scheme in S3_SCHEMES for place in places):
        return Needed((PACKAGE, *s3_jars.PACKAGES), ",".join(s3_jars.EXCLUDES), JARS | s3_jars.JARS)
    return Needed((PACKAGE,), EXCLUDES, JARS)


def fetched_jars(folder: Path, files: Mapping[str, str]) -> list[Path] | None:
    """Return the paths of the jars, or None if any is missing or has a different SHA-256."""
    paths = [folder / name for name in files]
    for path, sha256 in zip(paths, files.values(), strict=True):
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            return None
    return paths


def jars_in(directory: Path, files: Mapping[str, str]) -> list[Path]:
    """Return all jars in a directory that the caller chose.

    Raises IngestError if a needed jar is missing.
    """
    missing = [name for name in files if fetched_jars(directory, {name: files[name]}) is None]
    if missing:
        raise IngestError(
            f"{directory} lacks these jars, or they are other ones: {', '.join(missing)}; they are "
            "on Maven Central under these groups, names and versions"
        )
    return sorted(directory.glob("*.jar"))


@contextmanager
def jars_or_download(cache: Path, files: Mapping[str, str]) -> Iterator[list[Path] | None]:
    """Yield the paths of the jars in the cache, or None if the caller has to download them.

    None means that some jars are missing or invalid. The download must happen within the `with`
    block, during which a file lock keeps other processes waiting. The kernel releases the lock when
    the process ends, even if it crashes.
    """
    jars = fetched_jars(cache / "jars", files)
    if jars is not None:
        yield jars
        return
    with (cache / "fetch.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The previous holder of the lock has downloaded the jars, unless its download failed.
        yield fetched_jars(cache / "jars", files)
