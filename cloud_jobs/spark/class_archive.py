"""Archive of the classes that Spark loads. A JVM that uses the archive starts faster.

Java calls this technique application class data sharing. A JVM maps the archive into memory instead
of loading each class. If there is no archive yet, a JVM writes one when it exits. A JVM ignores an
archive from another Java version or with other jars, but it crashes if the archive is truncated.
For this reason the size is part of the file name, and a new file gets this name only after its
bytes are on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyspark
from pyspark import SparkContext

from cloud_jobs.spark.jars import Needed, cache_directory
from cloud_jobs.spark.java import OPTION
from cloud_jobs.spark.outside import is_one_jvm, user_settings_in

ARCHIVES_MAX: Final = 2
"""Number of archives kept, of 200 MB each: one with the jars of object stores, one without."""
WRITING_SECONDS_MAX: Final = 60.0
"""Seconds for a JVM to exit and write its archive. After that it is killed, and no later run tries
again, because it would take as long."""
_QUIET: Final = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
"""Options that suppress messages about archives: the JVM writes to this program's standard
output."""


@contextlib.contextmanager
def with_archive(
    settings: Mapping[str, str],
    cache_dir: Path | None,
    needed: Needed,
    own_jars: Path | None,
    progress: Callable[[str], None],
) -> Iterator[Mapping[str, str]]:
    """Yield `settings` for a Spark session, with options for a class archive if one can be used.

    A class archive can be used only if this process starts the JVM, if `settings` contains the JVM
    options of `short_run`, and if all jars exist. Otherwise `settings` is yielded unchanged.
    """
    cache = cache_directory(cache_dir)
    jars = [(own_jars or cache / "jars") / name for name in needed.files]
    is_other = "SPARK_REMOTE" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ
    is_used = OPTION in settings and not is_other and is_one_jvm({**user_settings_in(), **settings})
    if not is_used or not cache.is_dir() or not all(jar.is_file() for jar in jars):
        yield settings
        return
    with archived(settings, archive_in(cache, jars), progress) as chosen:
        yield chosen


def archive_in(cache: Path, jars: Sequence[Path]) -> Path:
    """Return the path of the class archive for the installed Java and PySpark and the given jars.

    The path does not include the suffix `-SIZE.jsa`.
    """
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else None
    found = java or shutil.which("java") or "java"
    library = Path(os.path.realpath(found)).parent.parent / "lib" / "server" / "libjvm.so"
    written = library.stat().st_mtime_ns if library.is_file() else 0
    parts = (library, written, pyspark.__version__, pyspark.__file__, *jars)
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
    return cache / f"classes-{digest[:16]}"


@contextlib.contextmanager
def archived(
    settings: Mapping[str, str], archive: Path, progress: Callable[[str], None]
) -> Iterator[Mapping[str, str]]:
    """Yield Spark settings that make a JVM use the class archive, or write it if there is none.

    A JVM writes the archive when it exits. Therefore, if a new archive is written, the JVM is
    stopped after the block, and this function waits until the archive is complete.
    """
    _remove_unfinished(archive.parent)
    for path in archive.parent.glob(f"{archive.name}-*.jsa"):
        if path.name == _name_of(archive, path.stat().st_size):
            yield _with(settings, f"'-XX:SharedArchiveFile={path}'")
            return
    given_up = archive.with_suffix(".given-up")
    if given_up.exists():
        yield settings
        return
    unfinished = archive.with_suffix(f".{os.getpid()}")
    try:
        yield _with(settings, f"'-XX:ArchiveClassesAtExit={unfinished}'")
        progress("storing Spark's classes, once: later runs start sooner")
        if not _end_jvm():
            given_up.touch()
            progress(f"not stored in {WRITING_SECONDS_MAX:g} s: later runs start as this one did")
        elif unfinished.is_file():
            _complete(unfinished, archive)
    finally:
        unfinished.unlink(missing_ok=True)


def _name_of(archive: Path, size: int) -> str:
    return f"{archive.name}-{size}.jsa"


def _complete(unfinished: Path, archive: Path) -> None:
    """Give a finished archive its final name, and remove the oldest archives."""
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    for torn in archive.parent.glob(f"{archive.name}-*.jsa"):
        torn.unlink(missing_ok=True)
    unfinished.replace(archive.parent / _name_of(archive, size))
    newest_first = sorted(
        archive.parent.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    for old in newest_first[ARCHIVES_MAX:]:
        old.unlink(missing_ok=True)


def _remove_unfinished(cache: Path) -> None:
    """Remove the unfinished archives of processes that have ended."""
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
    """Stop the JVM of this process, if it has one. Return False if the JVM had to be killed.

    A later session starts a new JVM.
    """
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return True
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    process.stdin.close()
    try:
        process.wait(WRITING_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        return False
    return True
