"""One Spark session for all tests of the room: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.main import ingest
from cloud_jobs.report import IngestReport
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark_session import spark_session

FEW_PARTITIONS = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session(None, lambda _: None, FEW_PARTITIONS) as session:
        yield session


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    directory = tmp_path / "landed"
    directory.mkdir()
    return directory


@pytest.fixture
def tables(tmp_path: Path) -> str:
    return str(tmp_path / "tables")


@pytest.fixture
def run(spark: SparkSession, landing: Path, tables: str) -> Callable[[], IngestReport]:
    """Ingest what is in `landing` into `tables`."""
    settings = IngestSettings(source=str(landing), tables=tables)
    return lambda: ingest(spark, settings, lambda _: None, lambda _: None)
