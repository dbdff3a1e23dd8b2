"""One Spark session, one ingestion and one audit for all tests of the room.

Starting a JVM takes longer than most tests, and ingesting a hundred rows as long as a hundred
thousand. So the tables that many tests read are created once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from cloud_jobs.audit.run import audit_tables
from cloud_jobs.gold.run import update_gold
from cloud_jobs.main import ingest
from cloud_jobs.report import Gap, IngestReport
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.java import LONG_RUN
from cloud_jobs.spark.session import spark_session
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from tests.audit_checks.cases import CASES
from tests.cloud_jobs import landings, two_landings
from tests.cloud_jobs.forgeries import Forgeries
from tests.instruments.fleet.fleet import Truth, fleet_of
from tests.system.fixtures import gateway

__all__ = ["gateway"]

SMALL = {
    # A test ingests a few hundred rows, and most of the time would go into Spark's preparation for
    # millions of rows. The test that runs the whole job as a process uses the job's own settings.
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.stats.skipping": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    # These are for Spark's web pages, which no test reads.
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.driver.defaultJavaOptions": f"{LONG_RUN} -Xmn400m",
}
FLEET_SEED = 14
SECONDS_MAX = 900
"""Timeout of a test. The first one that needs Spark also waits for its start and the ingestion."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need Spark as slow (`make check` omits them), with a long timeout."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(SECONDS_MAX))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            # At its end, the JVM would write the classes of all tests into an archive, which takes
            # a minute.
            patch.setattr(
                "cloud_jobs.spark.session.with_archive", lambda settings, *_: nullcontext(settings)
            )
            session = stack.enter_context(spark_session(None, lambda _: None, SMALL))
        yield session


class Place:
    """A landing directory, and the tables that the job creates from it."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.landing = root / "landed"
        self.landing.mkdir(parents=True)
        self.settings = IngestSettings(source=str(self.landing), tables=str(root / "tables"))

    def run(self) -> IngestReport:
        return ingest(self.spark, self.settings, lambda _: None, lambda _: None)

    def rows(self, table: str, where: str = "true") -> list[Row]:
        """Return the rows of a table that match an SQL condition."""
        read = self.spark.read.format("delta").load(f"{self.settings.tables}/{table}")
        return read.where(where).collect()


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


@pytest.fixture(scope="session")
def empty_tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the tables as a first run does. Tests copy them, because each creation is a commit."""
    root = tmp_path_factory.mktemp("empty") / "tables"
    making.create(Tables(spark, str(root)))
    return root


@dataclass
class Ingested:
    """Three runs of the job.

    The first run ingests landings, forgeries, the cases of the audit checks, and a small fleet. The
    second ingests the segments that heal the landings, with a keys file. The third finds nothing
    new.
    """

    place: Place
    """The landing directory and the tables after the three runs."""
    first: IngestReport
    one_batch: Path
    """A copy of the tables after the first run. The second batch changes the same rows."""
    healed: IngestReport
    idle: IngestReport
    foreign_topics: list[str]
    fleet: Truth
    """The truth for the gateways `gw-000` to `gw-004`, which have every fault of a fleet."""

    def gaps(self, report: IngestReport, gateway: str) -> list[Gap]:
        return [gap for gap in report.gaps if gap.gateway == gateway]

    def before_the_second_batch(self, root: Path) -> Place:
        """Return a copy of the tables after the first run, with the same landing directory."""
        other = Place(self.place.spark, root)
        shutil.copytree(self.one_batch, other.settings.tables)
        other.settings = replace(self.place.settings, tables=other.settings.tables)
        return other


@pytest.fixture(scope="session")
def ingested(
    spark: SparkSession, empty_tables: Path, tmp_path_factory: pytest.TempPathFactory
) -> Ingested:
    place = Place(spark, tmp_path_factory.mktemp("ingested"))
    later, foreign_topics = landings.land_all(place.landing)
    for case in CASES:
        case.land(place.landing)
    one, two = two_landings.two_landings()
    landings.land(place.landing, *one)
    forgeries = Forgeries(place.landing)
    forgeries.land_first()
    fleet = fleet_of(FLEET_SEED, gateways=5, landings=2)
    fleet.land(0, place.landing)
    shutil.copytree(empty_tables, place.settings.tables)
    with two_landings.earlier_job():
        first = place.run()
    one_batch = place.landing.parent / "one-batch"
    shutil.copytree(place.settings.tables, one_batch)
    landings.land(place.landing, *later, *two)
    forgeries.land_second()
    fleet.land(1, place.landing)
    place.settings = replace(place.settings, keys=forgeries.keys)
    healed, idle = place.run(), place.run()
    return Ingested(place, first, one_batch, healed, idle, foreign_topics, fleet.truth)


@pytest.fixture(scope="session")
def audit(ingested: Ingested) -> dict[str, Any]:
    """Audit these tables. Gateways do not affect each other, because each has its own log."""
    place = ingested.place
    return audit_tables(place.spark, place.settings.tables, lambda _: None)


@dataclass
class MadeGold:
    """Gold tables after three runs: one for each of the two batches, and an audit of the second.

    The second batch heals the gaps of the first. The first run audits too, so that the last one
    must audit just the gateways in the second batch.
    """

    place: Place
    results: list[dict[str, Any]]
    """The result of each of the three runs."""
    between: dict[str, list[Row]]
    """The rows of the tables in BETWEEN after the first run."""


BETWEEN = ("qos2_daily", "gateway_health", "gaps")


@pytest.fixture(scope="session")
def made_gold(ingested: Ingested, tmp_path_factory: pytest.TempPathFactory) -> MadeGold:
    place = ingested.before_the_second_batch(tmp_path_factory.mktemp("golden"))

    def run(*, is_audited: bool) -> dict[str, Any]:
        return update_gold(
            place.spark, place.settings.tables, lambda _: None, is_audited=is_audited
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cloud_jobs.gold.run.CARRIED_FROM_EVENTS", 1)
        results = [run(is_audited=True)]
        between = {name: place.rows(name) for name in BETWEEN}
        shutil.copytree(ingested.place.settings.tables, place.settings.tables, dirs_exist_ok=True)
        results += [run(is_audited=False), run(is_audited=True)]
    return MadeGold(place, results, between)


@pytest.fixture(scope="session")
def golden(made_gold: MadeGold) -> Place:
    """The gold tables after all three runs."""
    return made_gold.place
