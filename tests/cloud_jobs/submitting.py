"""spark-submit as an operator starts it: the .zip and the script of `make cloud-dist`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspark

from cloud_jobs.distribution import write
from cloud_jobs.spark.jars import JARS, cache_directory
from tests.short_jvm import SHORT_JVM

SPARK_HOME = Path(pyspark.__file__).parent
SECONDS_MAX = 560


def submit(
    directory: Path, master: str, verb: Sequence[str], *, jars: Sequence[Path] = (), **conf: str
) -> tuple[int, dict[str, Any], str]:
    """Submit a verb; return its exit code, its result and what it wrote to standard error."""
    package, script = write(directory / "dist")
    delta = [cache_directory(None) / "jars" / name for name in JARS]
    outcome = subprocess.run(
        [
            SPARK_HOME / "bin" / "spark-submit", "--master", master, "--py-files", package,
            "--driver-java-options", SHORT_JVM, "--conf", "spark.ui.enabled=false",
            "--conf", "spark.sql.shuffle.partitions=2",
            "--jars", ",".join(map(str, [*delta, *jars])),
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
            script, *verb,
        ],
        check=False, capture_output=True, text=True, cwd=directory, timeout=SECONDS_MAX,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(SPARK_HOME),
             "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    # Spark may write beside it.
    results = [line for line in outcome.stdout.splitlines() if line.startswith("{")]
    result = json.loads(results[-1]) if results else {}
    return outcome.returncode, result, outcome.stdout + outcome.stderr
