"""A Spark session that has Delta Lake, keeps quiet, and starts without a network the second time.

Under spark-submit the session is the cluster's: only Delta's settings are added. Otherwise it
runs in this process's own JVM on all cores.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from cloud_jobs.errors import IngestError
from cloud_jobs.limits import PYTHON_BATCH_BYTES_MAX
from cloud_jobs.spark.jars import (
    EXCLUDES,
    PACKAGE,
    cache_directory,
    fetched_jars,
    jars_or_the_fetching,
)
from cloud_jobs.spark.java import JAVA_NEEDED

_NEEDED: Final = {
    # Spark's own form of times, 96 bits wide, overflows in other engines after the year 2262, which
    # is where a broken clock may be.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # A row is a whole segment: without this a worker would get 10,000 of them together.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(PYTHON_BATCH_BYTES_MAX),
}
_LOCAL: Final = {
    "spark.app.name": "oncegate ingest",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    # One machine: hundreds of empty partitions would cost more than the work.
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    "spark.databricks.delta.snapshotPartitions": "1",
    # Both describe a query to who looks at it: the line of Python of each expression, and its plan.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}


@contextlib.contextmanager
def spark_session(
    cache_dir: Path | None,
    progress: Callable[[str], None],
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Yield the active session, or start one and stop it at the end. Raises IngestError."""
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    started = _start(cache_dir, progress, settings or {})
    try:
        yield started
    finally:
        started.stop()


def _start(
    cache_dir: Path | None, progress: Callable[[str], None], settings: Mapping[str, str]
) -> SparkSession:
    cache = cache_directory(cache_dir)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IngestError(
            f"cannot make the cache directory {cache} ({error.strerror}): name another one"
        ) from error
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        _check_java()
        # Workers must be this very Python: another one has neither zstd nor this package.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with contextlib.nullcontext() if submitted else jars_or_the_fetching(cache) as jars:
        is_fetching = jars is None and not submitted
        if is_fetching:
            progress("fetching Delta Lake for Spark, once (13 MB)")
        progress("starting Spark")
        builder = SparkSession.builder
        for key, value in (_settings(cache, jars, submitted=submitted) | dict(settings)).items():
            builder = builder.config(key, value)
        log = cache / "spark-start.log"
        try:
            with _standard_error_to(log):
                session = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise IngestError(_why_spark_did_not_start(log, fetching=is_fetching)) from error
        if is_fetching and fetched_jars(cache) is None:
            session.stop()
            raise IngestError(
                f"the Delta Lake jars in {cache / 'jars'} are not the ones that this version was "
                "tested with: remove that directory and run this again"
            )
    return session


def _settings(cache: Path, jars: list[Path] | None, *, submitted: bool) -> dict[str, str]:
    if submitted:
        return dict(_NEEDED)
    chosen = _NEEDED | _LOCAL | {"spark.master": "local[*]"}
    logging = Path(__file__).with_name("log4j2.properties")
    chosen["spark.driver.extraJavaOptions"] = (
        f"'-Dlog4j2.configurationFile={logging.as_uri()}' "
        f"'-Doncegate.spark.log={cache / 'spark.log'}' -Dderby.system.home={cache}"
    )
    chosen["spark.sql.warehouse.dir"] = (cache / "warehouse").as_uri()
    if jars is None:
        chosen["spark.jars.packages"] = PACKAGE
        chosen["spark.jars.excludes"] = EXCLUDES
        chosen["spark.jars.ivy"] = str(cache)
    else:
        chosen["spark.jars"] = ",".join(path.as_uri() for path in jars)
    return chosen


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") or (home and Path(home, "bin", "java").is_file())):
        raise IngestError(f"there is no Java. {JAVA_NEEDED}")


def _why_spark_did_not_start(log: Path, *, fetching: bool) -> str:
    if fetching:
        return (
            "Spark did not start. It had to fetch Delta Lake from Maven Central: is there a "
            f"network? It is needed the first time only. Details: {log}"
        )
    return f"Spark did not start. {JAVA_NEEDED}. Details: {log}"


@contextlib.contextmanager
def _standard_error_to(log: Path) -> Iterator[None]:
    """Redirect descriptor 2 to a file while the JVM starts: it inherits it and logs a lot."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
