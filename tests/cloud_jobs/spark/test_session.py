"""The Spark session: the caller's if there is one, else a new one, or one line with the reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.spark.session import spark_session

ROOT = Path(__file__).parents[3]


def refusal_of(cache: Path, **environment: str) -> str:
    """Return the output of a process that has no active session and cannot start one."""
    program = (
        "import sys; from pathlib import Path\n"
        "from cloud_jobs.errors import IngestError\n"
        "from cloud_jobs.spark.session import spark_session\n"
        "try:\n"
        "    with spark_session(Path(sys.argv[1]), print): print('started')\n"
        "except IngestError as error: print(error)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program, str(cache)],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)} | environment,
        text=True,
        timeout=60,
    ).stdout


def test_without_java_the_mend_is_one_line(tmp_path: Path) -> None:
    printed = refusal_of(tmp_path / "cache", PATH=str(tmp_path))
    assert printed.count("\n") == 1
    assert "install openjdk-17-jre-headless" in printed


def test_a_cache_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    printed = refusal_of(tmp_path / "file" / "cache", PATH="/usr/bin:/bin")
    assert printed.startswith(f"cannot make the cache directory {tmp_path}/file/cache")


def test_the_active_session_is_used_and_goes_on(spark: SparkSession) -> None:
    lines: list[str] = []
    with spark_session(None, lines.append) as session:
        assert session is spark
    assert spark.range(3).count() == 3
    assert lines == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.execution.arrow.maxBytesPerBatch", "4000000"),
        ("spark.databricks.delta.writeChecksumFile.enabled", "false"),
        ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
    ],
)
def test_a_session_of_our_own_has_what_the_job_needs(
    spark: SparkSession, key: str, value: str
) -> None:
    assert spark.conf.get(key) == value
