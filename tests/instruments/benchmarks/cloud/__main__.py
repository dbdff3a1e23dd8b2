"""`make bench-cloud`: ingest a fleet's logs, and let plain Spark copy the same lines beside it.

All figures are of one session on the same cores, but for the first: a process of its own that
starts Spark and ingests ten small segments.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from backports import zstd
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from cloud_jobs.main import ingest
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.session import spark_session
from cloud_jobs.tables.event_fields import EVENT_FIELDS
from cloud_jobs.tables.schemas import EVENTS
from tests.instruments.benchmarks.cloud.fleet import Gateway, land
from tests.instruments.benchmarks.cloud.processor import Cost, measured

PROGRAM = "tests.instruments.benchmarks.cloud"
OWN_FIELDS = ("sequence", "time", "event")
SMALL_SEGMENTS, SMALL_EVENTS, TIMES = 10, 100, 2


class Bench:
    """One landing directory and its tables."""

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

    def ingest(self) -> Cost:
        assert self.spark is not None
        with measured() as cost:
            ingest(self.spark, self.settings, lambda _: None, lambda _: None)
        return cost


def cold(root: Path) -> None:
    """In a process of its own: start Spark, ingest what has landed, end."""
    with spark_session(None, lambda _: None) as spark:
        bench = Bench(spark, root, 0)
        print(json.dumps(vars(bench.ingest())))


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


def _cold(root: Path) -> Cost:
    with measured() as cost:
        subprocess.run(
            [sys.executable, "-m", PROGRAM, "--cold", str(root)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    return cost


def measure(root: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything."""
    Bench(None, root / "cold", 0).land_small()
    found: dict[str, Any] = {}
    if not options.warm_only:
        found["ten small segments, cold"] = vars(_cold(root / "cold"))
    with spark_session(None, lambda _: None) as spark:
        bench = Bench(spark, root / "warm", options.gateways)
        bench.land(options.gateways * 1000, 1000)
        found["first batch"] = vars(bench.ingest())
        found["ten small segments, warm"] = _small(bench)
        events = bench.land(options.events, options.segment_events)
        lines = _as_text(bench, root / "lines")
        for name, copy in (("text", copy_as_text), ("columns", copy_as_columns)):
            copy(spark, lines, root / f"{name}-warm-up")
            found[f"plain Spark, {name}"] = _rated(copy(spark, lines, root / name), events)
        found["oncegate"] = _rated(bench.ingest(), events)
        found["nothing new"] = vars(bench.ingest())
        found["ten small segments behind it"] = _small(bench)
    return found


def _small(bench: Bench) -> list[dict[str, float]]:
    costs = []
    for _ in range(TIMES):
        bench.land_small()
        costs.append(vars(bench.ingest()))
    return costs


def _rated(cost: Cost, events: int) -> dict[str, float]:
    return {**vars(cost), "events": events, "events_s_core": events / cost.processor_seconds}


def _as_text(bench: Bench, target: Path) -> Path:
    """The same lines unpacked: Spark reads no zstd without Hadoop's native library."""
    target.mkdir()
    for path in Path(bench.settings.source).glob("gw-0*.zst"):
        content = zstd.decompress(path.read_bytes())
        if content.count(b"\n") > SMALL_EVENTS * 20:
            (target / f"{path.stem}.jsonl").write_bytes(content)
    return target


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make bench-cloud", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--gateways", type=int, default=4)
    parser.add_argument("--segment-events", type=int, default=30_000)
    parser.add_argument("--warm-only", action="store_true")
    parser.add_argument("--cold", type=Path)
    options = parser.parse_args()
    if options.cold is not None:
        cold(options.cold)
        return
    with tempfile.TemporaryDirectory(prefix="oncegate-bench-cloud-") as root:
        print(json.dumps(measure(Path(root), options), indent=2))


if __name__ == "__main__":
    main()
