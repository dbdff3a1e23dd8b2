"""A job that dies at any step leaves tables that the next run completes.

Each test starts with the tables after one batch and with a second batch landed. It must end with
the same tables as the undisturbed runs (`ingested`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cloud_jobs.ingest.batch import STEPS, last_finished
from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.spark.java import SHORT_RUN
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import TABLES
from tests.cloud_jobs.conftest import Ingested, Place

PROGRAM = Path(__file__).with_name("job_process.py")
ROOT = Path(__file__).parents[2]
TIMES_OF_RUNNING = {"verified_at", "finished_at", "added_at"}


def snapshot(place: Place) -> dict[str, list[str]]:
    """Return all tables, without the times at which the job ran."""
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
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]]),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


class Killed(BaseException):
    """Raised instead of a SIGKILL for a job in this process. The job has no handler for it."""


@pytest.fixture(scope="module")
def ended(ingested: Ingested) -> dict[str, list[str]]:
    """The tables after the undisturbed runs."""
    return snapshot(ingested.place)


def silent(_: str) -> None:
    return None


def kill_in_this_process(place: Place, step: str) -> None:
    """Run the job until this step is committed.

    The JVM continues to run, as it does on a cluster.
    """

    def die_after(committed: str) -> None:
        if committed == step:
            raise Killed

    with pytest.raises(Killed):
        ingest_batches(
            Tables(place.spark, place.settings.tables), place.settings, silent, die_after
        )


def kill_process(place: Place, step: str) -> None:
    """Run the job in a separate process on this test's JVM, and kill it after this step."""
    gateway = place.spark.sparkContext._gateway
    assert gateway is not None
    shared_jvm = {
        "PYSPARK_GATEWAY_PORT": str(gateway.gateway_parameters.port),
        "PYSPARK_GATEWAY_SECRET": gateway.gateway_parameters.auth_token,
        "PYSPARK_PIN_THREAD": "true",
    }
    with process(place, step, **shared_jvm) as job:
        _, errors = job.communicate()
        assert job.returncode == -signal.SIGKILL, f"{step}: {errors}"


def kill_with_its_jvm(place: Place, line: str) -> None:
    """Run the job as on one machine. Kill it and its JVM when it prints this line."""
    with process(place, JDK_JAVA_OPTIONS=SHORT_RUN) as job:
        assert job.stdout is not None
        for printed in job.stdout:
            if line in printed:
                os.killpg(job.pid, signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL, job.stderr.read() if job.stderr else ""


def test_a_job_that_is_killed_and_one_that_is_overtaken_end_with_the_tables_of_an_undisturbed_one(
    ingested: Ingested, ended: dict[str, list[str]], tmp_path: Path
) -> None:
    """The shortest history of this kind has three jobs.

    The first job is held up after its step `events`. Meanwhile a second job is killed when its rows
    are in the tables but its segments are not, and a third one finishes.
    """
    place = ingested.before_the_second_batch(tmp_path)
    tables = Tables(place.spark, place.settings.tables)

    def be_overtaken(step: str) -> None:
        if step == "events":
            kill_process(place, "readings")
            ingest_batches(tables, place.settings, silent, silent)
            assert last_finished(tables) == 2

    ingest_batches(tables, place.settings, silent, be_overtaken)
    assert snapshot(place) == ended
    assert ingest_batches(tables, place.settings, silent, silent).since == 2


@pytest.mark.long
def test_jobs_that_are_killed_after_every_step_end_with_the_tables_of_an_undisturbed_one(
    ingested: Ingested, ended: dict[str, list[str]], tmp_path: Path
) -> None:
    """Kill jobs after each step, and one in the middle of a step together with its JVM.

    An object store has no lock, so two runs can meet. All kills after the step `events` happen to
    other jobs, while one job is held up at this step. It continues when the others have finished. A
    job that is killed after its last step, `sweep`, has finished.
    """
    place = ingested.before_the_second_batch(tmp_path)
    tables = Tables(place.spark, place.settings.tables)
    first, others = STEPS[: STEPS.index("readings")], STEPS[STEPS.index("readings") : -1]

    def be_overtaken(step: str) -> None:
        if step != "events":
            return
        # The rows that this job has written to `sensor_readings` are not committed.
        kill_with_its_jvm(place, "sensor readings")
        kill_process(place, others[0])
        for other in others[1:]:
            kill_in_this_process(place, other)
        assert last_finished(tables) == 2
        ingest_batches(tables, place.settings, silent, silent)
        assert list(Path(place.settings.tables, "_staging").iterdir()) == []

    for step in first:
        kill_in_this_process(place, step)
    ingest_batches(tables, place.settings, silent, be_overtaken)
    assert snapshot(place) == ended
    assert ingest_batches(tables, place.settings, silent, silent).since == 2
