"""One Spark session for all tests of the room: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from cloud_jobs.main import ingest
from cloud_jobs.report import IngestReport
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.session import spark_session
from tests.short_jvm import SHORT_JVM
from tests.system.fixtures import gateway

__all__ = ["gateway"]

SMALL = {
    # A test ingests a few hundred rows: what Spark prepares for millions of them takes most of the
    # time. The test that starts the whole job as a process runs it with the job's own settings.
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.stats.skipping": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.defaultJavaOptions": SHORT_JVM,
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session(None, lambda _: None, SMALL) as session:
        yield session


class Place:
    """A landing directory and the tables that are made from it."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.landing = root / "landed"
        self.landing.mkdir(parents=True)
        self.settings = IngestSettings(source=str(self.landing), tables=str(root / "tables"))

    def run(self) -> IngestReport:
        return ingest(self.spark, self.settings, lambda _: None, lambda _: None)

    def rows(self, table: str, where: str = "true") -> list[Row]:
        """Rows of a table, with an SQL condition."""
        read = self.spark.read.format("delta").load(f"{self.settings.tables}/{table}")
        return read.where(where).collect()


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)
