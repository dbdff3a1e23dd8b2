"""The job in each place where it is deployed, in a separate process and Spark session.

The object store's server runs in another process, so its time does not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from cloud_jobs.main import ingest
from cloud_jobs.settings import IngestSettings
from cloud_jobs.short_run import jvm_settings
from cloud_jobs.spark.session import spark_session
from tests.cloud_jobs.object_store.server import BUCKET, object_store
from tests.instruments.benchmarks.cloud.fleet import Gateway, land
from tests.instruments.benchmarks.cloud.processor import Cost, measured
from tests.instruments.benchmarks.cloud.report import Row

PROGRAM: Final = "tests.instruments.benchmarks.cloud.places"
NAMES: Final = {
    "directory": "a directory",
    "s3a": "s3a (moto)",
    "cluster": "local-cluster[2,1,1024]",
}
SMALL_SEGMENTS, SMALL_EVENTS = 10, 100
SMALL_RUNS: Final = {
    1: "first in its JVM", 2: "again", 3: "a third time", 10: "a tenth time"
}  # fmt: skip
"""The runs with small segments that get a row, by number. `--follow` has many runs in one JVM."""
_ENDPOINT: Final = "spark.hadoop.fs.s3a.endpoint"


def measure(name: str, root: Path, events: int, segment_events: int) -> list[Row]:
    """Measure one place in a separate process."""
    with _settings_of(name) as settings:
        asked = {"name": name, "root": str(root), "settings": settings}
        outcome = subprocess.run(
            [sys.executable, "-m", PROGRAM],
            input=json.dumps(asked | {"events": events, "segment_events": segment_events}),
            check=True, stdout=subprocess.PIPE, text=True,
            # Executors find the packages in the same paths as this process.
            env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path[1:]])},
        )  # fmt: skip
    return [Row(*values) for values in json.loads(outcome.stdout.splitlines()[-1])]


@contextmanager
def _settings_of(name: str) -> Iterator[Mapping[str, str]]:
    if name == "s3a":
        with object_store() as store:
            yield store.spark_settings
    elif name == "cluster":
        yield {"spark.master": "local-cluster[2,1,1024]"}
    else:
        yield {}


class Place:
    """The location of the landing directory and the tables."""

    def __init__(self, name: str, root: Path, settings: Mapping[str, str]) -> None:
        self._landing = root / "landed"
        self._endpoint = settings.get(_ENDPOINT)
        where = f"s3a://{BUCKET}" if name == "s3a" else str(root)
        self.settings = IngestSettings(source=f"{where}/landed", tables=f"{where}/tables")

    def land(self, gateways: list[Gateway], events: int, segment_events: int) -> int:
        """Land events. Return their number."""
        landed = land(self._landing, gateways, events=events, segment_events=segment_events)
        if self._endpoint is not None:
            for path in sorted(self._landing.iterdir()):
                _put(f"{self._endpoint}/{BUCKET}/landed/{path.name}", path.read_bytes())
                path.unlink()
        return landed


def _tasks_of(spark: SparkSession) -> str:
    """Return the number of tasks per executor. On a cluster the driver runs none."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    executors = (found.apply(at) for at in range(found.size()))
    tasks = sorted((one.id(), one.completedTasks()) for one in executors)
    return "tasks of " + ", ".join(
        f"{name if name == 'driver' else f'executor {name}'}: {count:,}" for name, count in tasks
    )


def _put(url: str, content: bytes) -> None:
    headers = {"Content-Type": "application/octet-stream", "Authorization": "AWS any:any"}
    request = urllib.request.Request(url, data=content, method="PUT", headers=headers)  # noqa: S310
    urllib.request.urlopen(request, timeout=120).close()  # noqa: S310


def _rows(asked: dict[str, str | int], settings: Mapping[str, str]) -> Iterator[Row]:
    place = Place(str(asked["name"]), Path(str(asked["root"])), settings)
    small = [Gateway(9000 + number) for number in range(SMALL_SEGMENTS)]
    fleet = [Gateway(number) for number in range(1, 9)]
    where = NAMES[str(asked["name"])]
    chosen = {**jvm_settings(is_short=False), **settings}
    ends = (place.settings.source, place.settings.tables)
    with spark_session(None, lambda _: None, chosen, places=ends) as spark:

        def run() -> Cost:
            with measured() as cost:
                ingest(spark, place.settings, lambda _: None, lambda _: None)
            return cost

        for number in range(1, max(SMALL_RUNS) + 1):
            events = place.land(small, SMALL_SEGMENTS * SMALL_EVENTS, SMALL_EVENTS)
            cost = run()
            if number in SMALL_RUNS:
                what = f"ten small segments, {SMALL_RUNS[number]}"
                yield Row(f"{where}: {what}", events, **vars(cost))
        for what in ("first of its size", "again"):
            events = place.land(fleet, int(asked["events"]), int(asked["segment_events"]))
            yield Row(f"{where}: {what}", events, **vars(run()))
        yield Row(f"{where}: nothing new", 0, **vars(run()))
        if asked["name"] == "cluster":
            yield Row(f"{where}: {_tasks_of(spark)}", 0, **vars(Cost()))


def main() -> None:
    """Measure the place that standard input describes, and print its rows as JSON."""
    asked = json.load(sys.stdin)
    rows = list(_rows(asked, asked["settings"]))
    print(json.dumps([list(row) for row in rows]))


if __name__ == "__main__":
    main()
