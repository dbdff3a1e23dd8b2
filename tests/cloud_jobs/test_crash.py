"""A job that dies, wherever it dies, leaves tables that the next run makes whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.ingest.batch import STEPS
from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.settings import IngestSettings
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import TABLES
from tests.cloud_jobs import stories
from tests.cloud_jobs.conftest import Place
from tests.short_jvm import SHORT_JVM

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROGRAM = Path(__file__).with_name("job_process.py")
ROOT = Path(__file__).parents[2]
TIMES_OF_RUNNING = {"verified_at", "finished_at"}


def snapshot(place: Place) -> dict[str, list[str]]:
    """All tables, but for the times at which the job ran."""
    found = {}
    for name, schema in TABLES.items():
        columns = [column for column in schema.fieldNames() if column not in TIMES_OF_RUNNING]
        rows = [tuple(row[column] for column in columns) for row in place.rows(name)]
        found[name] = sorted(map(repr, rows))
    return found


def process(place: Place, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), place.settings.source, place.settings.tables, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@dataclass
class Landed:
    """A batch that is in the tables, a second one that has landed, and how the tables end."""

    place: Place
    """Landing directory and tables, which have both batches."""
    one_batch: Path
    """The tables before the second one, which touches the same rows."""
    ended: dict[str, list[str]]

    def beside(self, root: Path) -> Place:
        """The tables before the second batch once more; the landing directory is the same."""
        other = Place(self.place.spark, root)
        tables = shutil.copytree(self.one_batch, other.settings.tables)
        other.settings = IngestSettings(source=self.place.settings.source, tables=tables)
        return other


@pytest.fixture(scope="module")
def landed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Landed:
    place = Place(spark, tmp_path_factory.mktemp("crash"))
    landing, one_batch = place.landing, place.landing.parent / "one-batch"
    stories.land(landing, stories.log_of("senml").seal(stories.senml_events()[-4:]))
    stories.land_contradiction(landing)
    later = [
        *stories.land_damaged(landing),
        *stories.land_halves(landing),
        *stories.land_repeats(landing),
        *stories.land_session(landing),
    ]
    place.run()
    shutil.copytree(place.settings.tables, one_batch)
    stories.land(landing, *later)
    place.run()
    return Landed(place, one_batch, snapshot(place))


def test_a_job_killed_after_any_step_and_run_again_gives_the_tables_of_one_that_was_not(
    landed: Landed, tmp_path: Path
) -> None:
    killed = landed.beside(tmp_path)
    gateway = killed.spark.sparkContext._gateway
    assert gateway is not None
    shared_jvm = {
        "PYSPARK_GATEWAY_PORT": str(gateway.gateway_parameters.port),
        "PYSPARK_GATEWAY_SECRET": gateway.gateway_parameters.auth_token,
        "PYSPARK_PIN_THREAD": "true",
    }
    # A job killed after its last step, `sweep`, is one that has done everything.
    for step in STEPS[:-1]:
        with process(killed, step, **shared_jvm) as job:
            _, errors = job.communicate()
            assert job.returncode == -signal.SIGKILL, f"{step}: {errors}"
    last = killed.run()
    assert last.batches == 0
    assert list(Path(killed.settings.tables, "_staging").iterdir()) == []
    assert snapshot(killed) == landed.ended


def test_a_job_killed_with_its_jvm_in_the_middle_of_a_step_is_finished_by_the_next_one(
    landed: Landed, tmp_path: Path
) -> None:
    killed = landed.beside(tmp_path)
    with process(killed, JDK_JAVA_OPTIONS=SHORT_JVM) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if "sensor readings" in line:
                os.killpg(job.pid, signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL, job.stderr.read() if job.stderr else ""
    report = killed.run()
    assert report.batches == 1
    assert snapshot(killed) == landed.ended


def test_two_runs_at_once_without_a_lock_write_no_row_twice(landed: Landed, tmp_path: Path) -> None:
    """On an object store there is no lock: the second run meets the first in the middle."""
    both = landed.beside(tmp_path)
    tables = Tables(both.spark, both.settings.tables)

    def silent(_: str) -> None:
        return None

    def overtake(name: str) -> None:
        if name == "events":
            ingest_batches(tables, both.settings, silent, silent)

    ingest_batches(tables, both.settings, silent, overtake)
    assert snapshot(both) == landed.ended
    assert both.run().batches == 0
