"""The job with Spark Connect: no JVM in its process, and no Delta plugin in the server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from cloud_jobs.spark.jars import JARS, cache_directory
from cloud_jobs.spark.java import SHORT_RUN
from tests.contract.segments import LogWriter, opened

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]
ROOT = Path(__file__).parents[3]
START_SECONDS_MAX = 300


@contextmanager
def server(directory: Path) -> Iterator[int]:
    """Yield the port of a Spark Connect server with Delta Lake on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = Path(pyspark.__file__).parent
    jars = ",".join(str(cache_directory(None) / "jars" / name) for name in JARS)
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    log = (directory / "server.log").open("wb")
    process = subprocess.Popen(
        [
            home / "bin" / "spark-submit", "--master", "local[2]", "--jars", jars,
            "--driver-java-options", SHORT_RUN,
            *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
            "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
        ],
        cwd=directory, stdout=log, stderr=log, start_new_session=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home),
             "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    try:
        deadline = time.monotonic() + START_SECONDS_MAX
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert process.poll() is None, (directory / "server.log").read_text()[-2000:]
            assert time.monotonic() < deadline
            time.sleep(0.5)
        yield port
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        log.close()


def test_an_ingestion_and_its_verbs_go_through_a_server(tmp_path: Path) -> None:
    landing, tables = tmp_path / "landed", tmp_path / "tables"
    landing.mkdir()
    LogWriter("gw-1").seal([opened()]).write_to(landing)
    found = {}
    with server(tmp_path) as port:
        for verb in (["ingest", "--source", str(landing)], ["compact"], ["gaps"]):
            outcome = subprocess.run(
                [sys.executable, "-m", "cloud_jobs.command", *verb, "--tables", str(tables)],
                check=False, capture_output=True, text=True, cwd=ROOT, timeout=600,
                env={**os.environ, "SPARK_REMOTE": f"sc://127.0.0.1:{port}"},
            )  # fmt: skip
            assert outcome.returncode == 0, outcome.stderr
            found[verb[0]] = json.loads(outcome.stdout.splitlines()[-1])
    assert (found["ingest"]["segments_ingested"], found["ingest"]["batches"]) == (1, 1)
    assert found["ingest"]["tables"]["events"]["rows"] == 1
    assert found["gaps"]["gaps_count"] == 0
