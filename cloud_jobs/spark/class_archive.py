"""An archive of the classes that Spark loads: later JVMs map it instead of loading each class.

This is Java's application class data sharing. A JVM that finds no archive writes one when it ends.
The JVM ignores an archive of another Java or of other jars, and does not start with a torn one: the
name of an archive has its size, and its bytes are on disk before it has that name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyspark
from pyspark import SparkContext

from cloud_jobs.spark.jars import Needed, cache_directory
from cloud_jobs.spark.outside import is_one_jvm, set_outside

OPTION: Final = "spark.driver.defaultJavaOptions"
WRITING_SECONDS_MAX: Final = 60.0
"""Seconds that a JVM may take to end and to write its archive of 200 MB; then it is stopped."""
_QUIET: Final = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
"""The JVM prints nothing about an archive: its standard output is that of this program."""


@contextlib.contextmanager
def with_archive(
    settings: Mapping[str, str], cache_dir: Path | None, needed: Needed, own_jars: Path | None
) -> Iterator[Mapping[str, str]]:
    """Yield settings with an archive of classes where this process starts a JVM for this machine,
    with the options of this program and jars that are there."""
    cache = cache_directory(cache_dir)
    jars = [(own_jars or cache / "jars") / name for name in needed.files]
    is_other = "SPARK_REMOTE" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ
    is_used = OPTION in settings and not is_other and is_one_jvm(set_outside())
    if not is_used or not cache.is_dir() or not all(jar.is_file() for jar in jars):
        yield settings
        return
    with archived(settings, archive_in(cache, jars)) as chosen:
        yield chosen


def archive_in(cache: Path, jars: Sequence[Path]) -> Path:
    """Return the archive for this Java, this PySpark and these jars, but for `-SIZE.jsa`."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else None
    found = java or shutil.which("java") or "java"
    library = Path(os.path.realpath(found)).parent.parent / "lib" / "server" / "libjvm.so"
    written = library.stat().st_mtime_ns if library.is_file() else 0
    parts = (library, written, pyspark.__version__, pyspark.__file__, *jars)
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
    return cache / f"classes-{digest[:16]}"


@contextlib.contextmanager
def archived(settings: Mapping[str, str], archive: Path) -> Iterator[Mapping[str, str]]:
    """Yield settings with which a JVM takes its classes from an archive, or else writes one when it
    ends, which is then waited for."""
    _remove_unfinished(archive.parent)
    for path in archive.parent.glob(f"{archive.name}-*.jsa"):
        if path.name == _name_of(archive, path.stat().st_size):
            yield _with(settings, f"'-XX:SharedArchiveFile={path}'")
            return
    unfinished = archive.with_suffix(f".{os.getpid()}")
    try:
        yield _with(settings, f"'-XX:ArchiveClassesAtExit={unfinished}'")
        if _end_jvm() and unfinished.is_file():
            _complete(unfinished, archive)
    finally:
        unfinished.unlink(missing_ok=True)


def _name_of(archive: Path, size: int) -> str:
    return f"{archive.name}-{size}.jsa"


def _complete(unfinished: Path, archive: Path) -> None:
    for other in archive.parent.glob("classes-*.jsa"):
        other.unlink(missing_ok=True)
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    unfinished.replace(archive.parent / _name_of(archive, size))


def _remove_unfinished(cache: Path) -> None:
    """Remove what JVMs wrote whose program had been interrupted."""
    for path in cache.glob("classes-*"):
        number = path.suffix.removeprefix(".")
        if number.isdigit() and not _is_running(int(number)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def _with(settings: Mapping[str, str], option: str) -> dict[str, str]:
    return {**settings, OPTION: f"{settings.get(OPTION, '')} {_QUIET} {option}".strip()}


def _end_jvm() -> bool:
    """Stop the JVM of this process, which a later session starts again. Return whether it ended by
    itself."""
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return False
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    process.stdin.close()
    try:
        process.wait(WRITING_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        return False
    return True
