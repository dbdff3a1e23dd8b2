"""Starts a Spark session with Delta Lake.

The session logs to a file, and needs no network after the first start.

Master, memory and cores come from spark-submit, the environment, Spark's configuration files or an
existing session. By default Spark uses this machine and all its cores.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from cloud_jobs import distribution
from cloud_jobs.errors import IngestError, spark_failures
from cloud_jobs.limits import OPEN_FILES_PER_TASK_MAX, PYTHON_BATCH_BYTES_MAX, TASK_TRIES_MAX
from cloud_jobs.spark.class_archive import with_archive
from cloud_jobs.spark.jars import (
    JARS,
    PACKAGE,
    Needed,
    cache_directory,
    fetched_jars,
    jars_in,
    jars_or_download,
    needed_for,
)
from cloud_jobs.spark.java import CLASSES, JAVA_NEEDED, check_java
from cloud_jobs.spark.java_names import keep_java_names
from cloud_jobs.spark.outside import is_local, is_one_jvm, user_settings_in
from cloud_jobs.spark.temporary import temporary_settings

_RUNTIME: Final = {
    # Spark's default format overflows in other engines after 2262, which a broken clock may show.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.maxConcurrentOutputFileWriters": str(OPEN_FILES_PER_TASK_MAX),
    # A row is a whole segment. By default a worker would receive 10,000 of them together.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(PYTHON_BATCH_BYTES_MAX),
    # Delta would also write a checksum file per commit, with many requests to an object store.
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
}
"""Settings of every session, including a session that the caller created."""

_SNAPSHOT_TASKS: Final = "spark.databricks.delta.snapshotPartitions"
_EXTENSIONS: Final = "spark.sql.extensions"
_DELTA: Final = {
    _EXTENSIONS: "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_LOCAL: Final = {
    # A failed task is retried as on a cluster, because requests to an object store sometimes fail.
    "spark.master": f"local[*,{TASK_TRIES_MAX}]",
    "spark.app.name": "oncegate ingest",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    # On one machine, hundreds of empty partitions would cost more than the work.
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    _SNAPSHOT_TASKS: "1",
    # Each aggregation clears at least one page of 16 MB, and each stage a block of 4 MB.
    "spark.buffer.pageSize": "1m",
    "spark.broadcast.blockSize": "256k",
    "spark.memory.fraction": "0.45",  # the old generation has room for more than cached rows
    # For debugging: the Python line of each expression, and the query plan.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}


@contextlib.contextmanager
def spark_session(
    cache_dir: Path | None,
    progress: Callable[[str], None],
    settings: Mapping[str, str] | None = None,
    *,
    places: Sequence[str] = (),
    jars: Path | None = None,
) -> Iterator[SparkSession]:
    """Yield the active session, or start a session and stop it after the block.

    Args:
        cache_dir: directory for jars and logs; if None, a default in the user's cache directory.
        progress: called with a line of text at each step.
        settings: Spark settings for a session that is started here.
        places: paths and URLs that the session will read and write.
        jars: a directory with the jars for these places; if None, they are downloaded.

    Raises IngestError if Spark cannot be started.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        with temporary_settings(active, _RUNTIME):
            yield active
        return
    needed = needed_for(places)
    with with_archive(settings or {}, cache_dir, needed, jars, progress) as chosen:
        started = _started(cache_dir, progress, chosen, needed, jars)
        keep_java_names(started)
        try:
            with temporary_settings(started, _RUNTIME):
                yield started
        finally:
            started.stop()


def _started(
    cache_dir: Path | None,
    progress: Callable[[str], None],
    settings: Mapping[str, str],
    needed: Needed,
    own_jars: Path | None,
) -> SparkSession:
    """Start a session on a Spark Connect server, under spark-submit, or in a new local JVM."""
    if "SPARK_REMOTE" in os.environ:
        progress("connecting to Spark")
        return _connected()
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        progress("starting Spark")
        return _submitted()
    return _start(cache_dir, progress, settings, needed, own_jars)


def _connected() -> SparkSession:
    """Connect to the Spark Connect server, and upload this package for its Python workers."""
    session = SparkSession.builder.getOrCreate()
    with tempfile.TemporaryDirectory() as directory:
        package, _ = distribution.write(Path(directory))
        session.addArtifacts(str(package), pyfile=True)
    return session


def _submitted() -> SparkSession:
    """Start the session that spark-submit has prepared.

    Raises IngestError if Delta Lake is missing.
    """
    builder = SparkSession.builder
    user_settings = dict(SparkConf().getAll())
    # Delta's default of 50 tasks per table state is meant for larger logs than these.
    few = {} if _SNAPSHOT_TASKS in user_settings else {_SNAPSHOT_TASKS: "4"}
    for key, value in (_delta_settings(user_settings) | few).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        session.read.format("delta").load("file:/")
    except spark_failures() as error:
        if "DATA_SOURCE_NOT_FOUND" in str(error) or "ClassNotFound" in str(error):
            session.stop()
            raise IngestError(
                "Spark has no Delta Lake: start the job with spark-submit --packages "
                f"{PACKAGE}, or where there is no Maven Central with its files behind --jars: "
                f"{', '.join(JARS)}"
            ) from error
    return session


def _delta_settings(user_settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for Delta Lake. Spark extensions in the user's settings are kept."""
    others = [name for name in user_settings.get(_EXTENSIONS, "").split(",") if name]
    added = [*others, *(name for name in [_DELTA[_EXTENSIONS]] if name not in others)]
    return _DELTA | {_EXTENSIONS: ",".join(added)}


def _start(
    cache_dir: Path | None,
    progress: Callable[[str], None],
    settings: Mapping[str, str],
    needed: Needed,
    own_jars: Path | None,
) -> SparkSession:
    cache = cache_directory(cache_dir)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IngestError(
            f"cannot make the cache directory {cache} ({error.strerror}): name another one"
        ) from error
    check_java()
    user_settings = user_settings_in()
    if is_local(user_settings):
        # Workers must use this same Python: another one has neither zstd nor this package.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with _jars_from(cache, needed, own_jars) as jars:
        is_fetching = jars is None
        if is_fetching:
            progress(f"fetching jars for Spark, once ({needed.megabytes} MB)")
        progress("starting Spark")
        chosen = _settings(cache, jars, {**user_settings, **settings}, needed)
        builder = SparkSession.builder.config(map={**chosen, **settings})
        log = cache / "spark-start.log"
        try:
            with _standard_error_to(log):
                session = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise IngestError(_why_spark_did_not_start(log, fetching=is_fetching)) from error
        if is_fetching and fetched_jars(cache / "jars", needed.files) is None:
            session.stop()
            raise IngestError(
                f"the jars in {cache / 'jars'} are not the ones that this version was "
                "tested with: remove that directory and run this again"
            )
    return session


def _settings(
    cache: Path, jars: list[Path] | None, user_settings: Mapping[str, str], needed: Needed
) -> dict[str, str]:
    """Return the settings for a JVM that this process starts.

    The user's own settings take precedence.
    """
    chosen = dict(_RUNTIME)
    if is_local(user_settings):
        chosen |= _LOCAL
    logging = Path(__file__).with_name("log4j2.properties")
    chosen["spark.driver.extraJavaOptions"] = (
        f"{CLASSES} '-Dlog4j2.configurationFile={logging.as_uri()}' "
        f"'-Doncegate.spark.log={cache / 'spark.log'}' '-Dderby.system.home={cache}'"
    )
    chosen["spark.sql.warehouse.dir"] = (cache / "warehouse").as_uri()
    if jars is None:
        chosen["spark.jars.ivy"] = str(cache)
    chosen = {name: value for name, value in chosen.items() if name not in user_settings}
    chosen |= _delta_settings(user_settings)
    for name, more in _jars_settings(jars, needed, is_one=is_one_jvm(user_settings)).items():
        between = ":" if name.endswith("ClassPath") else ","
        chosen[name] = between.join(filter(None, (user_settings.get(name), more)))
    return chosen


def _jars_settings(jars: list[Path] | None, needed: Needed, *, is_one: bool) -> dict[str, str]:
    if jars is None:
        packages = ",".join(needed.packages)
        return {"spark.jars.packages": packages, "spark.jars.excludes": needed.excludes}
    if is_one:
        # Spark copies `spark.jars` at each start. An archive can contain classes of this path.
        return {"spark.driver.extraClassPath": ":".join(map(str, jars))}
    return {"spark.jars": ",".join(path.as_uri() for path in jars)}


def _jars_from(
    cache: Path, needed: Needed, own_jars: Path | None
) -> contextlib.AbstractContextManager[list[Path] | None]:
    if own_jars is not None:
        return contextlib.nullcontext(jars_in(own_jars, needed.files))
    return jars_or_download(cache, needed.files)


def _why_spark_did_not_start(log: Path, *, fetching: bool) -> str:
    if fetching:
        return (
            "Spark did not start. It had to fetch jars from Maven Central: is there a "
            f"network? It is needed the first time only; without one name a "
            f"directory with them: --jars DIR. Details: {log}"
        )
    return f"Spark did not start. {JAVA_NEEDED}. Details: {log}"


@contextlib.contextmanager
def _standard_error_to(log: Path) -> Iterator[None]:
    """Within the block, redirect standard error to a log file. A new JVM also writes to it."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
