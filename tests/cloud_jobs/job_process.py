"""The job as a separate process that tests kill.

python job_process.py SOURCE TABLES STEP
    uses the JVM of PYSPARK_GATEWAY_PORT, and kills itself with SIGKILL when STEP is committed
python job_process.py SOURCE TABLES
    starts its own JVM, and prints the job's progress
"""

from __future__ import annotations

import os
import signal
import sys

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from cloud_jobs.main import ingest, run
from cloud_jobs.settings import IngestSettings


def attached_session() -> SparkSession:
    """Return a session on the test's own JVM. Starting a JVM for each kill would take minutes."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    jvm = gateway.jvm
    java_context = jvm.org.apache.spark.api.java.JavaSparkContext(
        jvm.org.apache.spark.SparkContext.getOrCreate()
    )
    conf = SparkConf(_jconf=java_context.getConf())
    context = SparkContext(gateway=gateway, jsc=java_context, conf=conf)
    return SparkSession(context)


def main() -> None:
    settings = IngestSettings(source=sys.argv[1], tables=sys.argv[2])
    if len(sys.argv) == 3:
        run(settings, lambda line: print(line, flush=True))
        return

    def die_after(step: str) -> None:
        if step == sys.argv[3]:
            os.kill(os.getpid(), signal.SIGKILL)

    ingest(attached_session(), settings, lambda _: None, die_after)


if __name__ == "__main__":
    main()
