"""A job that dies, wherever it dies, leaves tables that the next run makes whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.batch import STEPS
from cloud_jobs.delta_tables import Tables
from cloud_jobs.main import ingest_batches
from cloud_jobs.schemas import TABLES
from cloud_jobs.settings import IngestSettings
from tests.cloud_jobs import stories
from tests.cloud_jobs.conftest import Place
from tests.contract.segments import Segment
from tests.short_jvm import SHORT_JVM

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

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


def beside(place: Place, root: Path) -> Place:
    """Other tables of the same landing directory."""
    other = Place(place.spark, root)
    other.settings = IngestSettings(source=place.settings.source, tables=other.settings.tables)
    return other


def land_first(landing: Path) -> list[Segment]:
    """Something for every table; returns what lands later and touches the same rows."""
    stories.land(landing, stories.log_of("senml").seal(stories.senml_events()[-4:]))
    stories.land_contradiction(landing)
    return [
        *stories.land_damaged(landing),
        *stories.land_halves(landing),
        *stories.land_repeats(landing),
        *stories.land_session(landing),
    ]


def test_a_job_killed_after_any_step_and_run_again_gives_the_tables_of_one_that_was_not(
    place: Place, tmp_path: Path
) -> None:
    later = land_first(place.landing)
    killed = beside(place, tmp_path / "killed")
    place.run()
    shutil.copytree(place.settings.tables, killed.settings.tables)
    stories.land(place.landing, *later)
    place.run()
    gateway = place.spark.sparkContext._gateway
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
    assert snapshot(killed) == snapshot(place)


def test_a_job_killed_with_its_jvm_in_the_middle_of_a_step_is_finished_by_the_next_one(
    place: Place, tmp_path: Path
) -> None:
    land_first(place.landing)
    killed = beside(place, tmp_path / "killed")
    with process(killed, JDK_JAVA_OPTIONS=SHORT_JVM) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if "sensor readings" in line:
                os.killpg(job.pid, signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL, job.stderr.read() if job.stderr else ""
    report = killed.run()
    assert report.batches == 1
    place.run()
    assert snapshot(killed) == snapshot(place)


def test_two_runs_at_once_without_a_lock_write_no_row_twice(
    spark: SparkSession, place: Place, tmp_path: Path
) -> None:
    """On an object store there is no lock: the second run meets the first in the middle."""
    stories.land_session(place.landing)
    stories.land_repeats(place.landing)
    both = beside(place, tmp_path / "both")
    tables = Tables(spark, both.settings.tables)
    tables.create()

    def silent(_: str) -> None:
        return None

    def overtake(name: str) -> None:
        if name == "events":
            ingest_batches(tables, both.settings, silent, silent)

    ingest_batches(tables, both.settings, silent, overtake)
    place.run()
    assert snapshot(both) == snapshot(place)
    assert both.run().batches == 0
