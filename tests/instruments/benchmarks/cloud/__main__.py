"""`make bench-cloud`: ingest a fleet's logs, update gold, and copy the same lines with plain Spark.

make bench-cloud                       batches of 500,000 and 2,000,000 events
make bench-cloud EVENTS=1000000        twice as many
make bench-cloud ARGUMENTS=--write     also writes this page

Nearly all rows are measured in one session on the same cores. The first rows use a new process that
ingests ten small segments as `oncegate ingest` does, another as `oncegate gold` does, and one that
does both. The last rows use a separate session for each place where the job is deployed: a
directory, an object store and a cluster of two executors.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from backports import zstd
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from cloud_jobs.gold.run import update_gold
from cloud_jobs.main import ingest, run
from cloud_jobs.operations import gold
from cloud_jobs.settings import IngestSettings
from cloud_jobs.short_run import jvm_settings
from cloud_jobs.spark.session import spark_session
from cloud_jobs.tables.event_fields import EVENT_FIELDS
from cloud_jobs.tables.schemas import EVENTS
from tests.instruments.benchmarks.cloud import places, report
from tests.instruments.benchmarks.cloud.fleet import Gateway, land
from tests.instruments.benchmarks.cloud.processor import Cost, measured, processor_seconds
from tests.instruments.benchmarks.cloud.report import Row
from tests.instruments.benchmarks.machine import machine_of

PROGRAM = "tests.instruments.benchmarks.cloud"
ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "benchmarks-cloud.md"
OWN_FIELDS = ("sequence", "time", "event")
SMALL_SEGMENTS, SMALL_EVENTS = 10, 100
TURNS = (1, 1, 4, 4)
"""Sizes of the batches that plain Spark and the job each process, alternately, in `--events`."""
GOLD = "`oncegate gold`"
WITH_GOLD = "ingest --gold"
PLACES_PART = 4
"""Each place ingests all events divided by this number, twice."""
GROWTH = (100, 10, 1)
"""Small segments are ingested into tables with `--events`, divided by each number here."""


class Bench:
    """A landing directory and its tables."""

    def __init__(self, spark: SparkSession | None, root: Path, gateways: int) -> None:
        self.spark = spark
        self.small = [Gateway(9000 + number) for number in range(SMALL_SEGMENTS)]
        self.gateways = [Gateway(number) for number in range(1, gateways + 1)]
        self.settings = IngestSettings(source=str(root / "landed"), tables=str(root / "tables"))

    def land(self, events: int, segment_events: int) -> int:
        landing = Path(self.settings.source)
        return land(landing, self.gateways, events=events, segment_events=segment_events)

    def land_small(self) -> int:
        events = SMALL_SEGMENTS * SMALL_EVENTS
        landing = Path(self.settings.source)
        return land(landing, self.small, events=events, segment_events=SMALL_EVENTS)

    def ingest(self, progress: Callable[[str], None] = lambda _: None) -> Cost:
        assert self.spark is not None
        with measured() as cost:
            ingest(self.spark, self.settings, progress, lambda _: None)
        return cost

    def gold(self) -> Cost:
        assert self.spark is not None
        with measured() as cost:
            update_gold(self.spark, self.settings.tables, lambda _: None)
        return cost


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def cold(verb: str, root: Path) -> None:
    """Ingest or update gold as the command does, or both, in this new process.

    Print the processor seconds.
    """
    settings = Bench(None, root, 0).settings
    if verb == "gold":
        gold(settings.tables, lambda _: None, is_audited=True)
    else:
        run(replace(settings, is_gold_updated=verb == WITH_GOLD), lambda _: None)
    print(processor_seconds())


def copy_as_text(spark: SparkSession, lines: Path, target: Path) -> Cost:
    with measured() as cost:
        rows = spark.read.text(str(lines))
        rows.write.format("delta").save(str(target))
    return cost


def copy_as_columns(spark: SparkSession, lines: Path, target: Path) -> Cost:
    with measured() as cost:
        columns = {**{field.name: field.dataType for field in EVENTS}, "time": LongType()}
        fields = [StructField(name, columns[name]) for name in (*OWN_FIELDS, *EVENT_FIELDS)]
        rows = spark.read.schema(StructType(fields)).json(str(lines))
        rows.write.format("delta").save(str(target))
    return cost


COPIES = {
    "plain Spark: JSON as text": copy_as_text,
    "plain Spark: JSON as columns": copy_as_columns,
}


def _cold(verb: str, root: Path) -> Cost:
    with measured() as cost:
        outcome = subprocess.run(
            [sys.executable, "-m", PROGRAM, "--cold", verb, str(root)],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    cost.processor_seconds = float(outcome.stdout.splitlines()[-1])
    return cost


def measure(root: Path, options: argparse.Namespace) -> list[Row]:
    """Measure everything. Return one row per measurement."""
    rows: list[Row] = []

    def note(name: str, cost: Cost, events: int) -> None:
        rows.append(Row(name, events, **vars(cost)))
        say(report.line_of(rows[-1]))

    if not options.warm_only:
        say("ten small segments, cold")
        bench, folder = Bench(None, root / "cold", 0), root / "cold"
        for which in ("the first ones", "the next ones"):
            events = bench.land_small()
            note(f"ten small segments, {which}, by a new process", _cold("ingest", folder), events)
            note(f"{GOLD} of {which}, by a new process", _cold("gold", folder), events)
        events = bench.land_small()
        note(
            f"`oncegate {WITH_GOLD}` of ten more, by a new process",
            _cold(WITH_GOLD, folder),
            events,
        )
        note("nothing new, by a new process", _cold("ingest", folder), 0)
    with spark_session(None, lambda _: None, jvm_settings(is_short=False)) as spark:
        bench, landed = Bench(spark, root / "warm", options.gateways), 0
        for part in GROWTH:
            landed += _warm_up(bench, options.events // part - landed, options.segment_events)
            _small(bench, landed, note)
        note("nothing new, in a session", bench.ingest(), 0)
        for turn, times in enumerate(TURNS):
            lines = root / f"lines-{turn}"
            segments, events = _landed(bench, times * options.events, options.segment_events)
            _turn(bench, _as_text(segments, lines), note, events)
    for name in places.NAMES if not options.warm_only else ():
        say(places.NAMES[name])
        for row in places.measure(
            name, root / name, options.events // PLACES_PART, options.segment_events
        ):
            rows.append(row)
            say(report.line_of(row))
    return rows


def _warm_up(bench: Bench, events: int, segment_events: int) -> int:
    say(f"landing {events:,} events")
    landed = bench.land(events, segment_events)
    bench.ingest(say)
    return landed


def _landed(bench: Bench, events: int, segment_events: int) -> tuple[set[Path], int]:
    """Land events. Return their files and the number of events."""
    say(f"landing {events:,} events")
    before = {*Path(bench.settings.source).iterdir()}
    landed = bench.land(events, segment_events)
    return {*Path(bench.settings.source).iterdir()} - before, landed


def _turn(bench: Bench, lines: Path, note: Callable[[str, Cost, int], None], events: int) -> None:
    assert bench.spark is not None
    for name, copy in COPIES.items():
        say(name)
        target = lines.with_name(f"{lines.name}-{copy.__name__}")
        note(name, copy(bench.spark, lines, target), events)
    note("oncegate ingest", bench.ingest(say), events)


def _small(bench: Bench, landed: int, note: Callable[[str, Cost, int], None]) -> None:
    """Ingest small segments twice, as the first run may be the first of its kind in the JVM.

    After each run, update gold.
    """
    in_tables = f"{landed:,} events in the tables"
    note(f"{GOLD} of all {in_tables}", bench.gold(), landed)
    for which in ("", ", again"):
        events = bench.land_small()
        note(f"ten small segments, {in_tables}{which}", bench.ingest(), events)
        note(f"{GOLD} of these{which}", bench.gold(), events)


def _as_text(segments: set[Path], target: Path) -> Path:
    """Unpack the segments, because Spark needs Hadoop's native library to read zstd."""
    target.mkdir()
    for path in segments:
        (target / f"{path.stem}.jsonl").write_bytes(zstd.decompress(path.read_bytes()))
    return target


def main() -> None:
    """Measure, and print the rows as a table or as JSON."""
    parser = argparse.ArgumentParser(prog="make bench-cloud", description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--gateways", type=int, default=8)
    parser.add_argument("--segment-events", type=int, default=30_000)
    parser.add_argument("--warm-only", action="store_true")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks-cloud.md")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cold", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold is not None:
        verb, root = options.cold
        cold(verb, Path(root))
        return
    machine = machine_of(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix="oncegate-bench-cloud-") as root:
        rows = measure(Path(root), options)
    if options.json:
        print(json.dumps([row._asdict() for row in rows], indent=2))
    else:
        print(report.table_of(rows))
    if options.write:
        load = f"load average {machine['load_average']} before, {os.getloadavg()[0]:.1f} after it"
        PAGE.write_text(report.page_of(rows, machine, load))
        say(f"written: docs/{PAGE.name}")


if __name__ == "__main__":
    main()
