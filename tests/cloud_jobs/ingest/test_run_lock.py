"""Two runs on one local tables directory: the second one is refused immediately."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.run_lock import locked, only_run


def test_a_second_run_is_refused_with_the_process_that_is_writing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from cloud_jobs.ingest.run_lock import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "tables")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        refusal = f"another ingest \\(process {holder.pid}\\)"
        with pytest.raises(IngestError, match=refusal), locked(tmp_path / "tables"):
            pytest.fail("the lock was given twice")
        holder.kill()
    with locked(tmp_path / "tables"):
        assert (tmp_path / "tables" / "_ingest.lock").exists()


def test_a_tables_directory_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(IngestError, match="make it writable or name another one"),
        locked(tmp_path / "file" / "tables"),
    ):
        pytest.fail("there is no such directory")


@pytest.mark.parametrize("place", ["s3a://bucket/tables", "hdfs://host/tables"])
def test_tables_elsewhere_are_not_locked(place: str, spark: SparkSession) -> None:
    with only_run(spark, place), only_run(spark, place):
        pass


def test_a_path_without_a_scheme_is_in_the_file_system_of_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    tables = tmp_path / "tables"
    for place in (str(tables), tables.as_uri()):
        with only_run(spark, place), pytest.raises(IngestError), only_run(spark, str(tables)):
            pytest.fail("the lock was given twice")
    before = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", "hdfs://host")
    try:
        with only_run(spark, str(tmp_path / "other")):
            assert not (tmp_path / "other").exists()
    finally:
        hadoop.set("fs.defaultFS", before)
