"""A second JVM takes its classes from the archive that the first one has written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cloud_jobs.spark.class_archive import archive_in
from cloud_jobs.spark.jars import JARS, cache_directory

SESSION = """
import sys
from pathlib import Path
from cloud_jobs.short_run import jvm_settings
from cloud_jobs.spark.session import spark_session
for _ in range(int(sys.argv[2])):
    with spark_session(Path(sys.argv[1]), print, jvm_settings(is_short=True)) as spark:
        system = spark._jvm.java.lang.System
        print(spark.range(3).count(), len(system.getProperty("java.class.path").split("delta")) > 1)
        beans = spark._jvm.java.lang.management.ManagementFactory
        print(*beans.getRuntimeMXBean().getInputArguments())
"""


@pytest.mark.slow
def test_a_jvm_writes_an_archive_and_the_next_one_reads_it(tmp_path: Path) -> None:
    cache = tmp_path / "with space"
    cache.mkdir()
    (cache / "jars").symlink_to(cache_directory(None) / "jars")
    archive = archive_in(cache, [cache / "jars" / name for name in JARS])
    first = session_in(cache, 2)
    assert first.count("3 True") == 2
    assert first.count("-XX:ArchiveClassesAtExit=") == first.count("-XX:SharedArchiveFile=") == 1
    assert [*cache.glob("classes-*")] == [archive]
    archive.chmod(0o600)
    with archive.open("r+b") as file:
        file.truncate(archive.stat().st_size // 2)
    torn = session_in(cache, 1)
    assert "3 True" in torn
    assert "-XX:SharedArchiveFile=" in torn
    lines = [line for line in torn.splitlines() if not line.startswith(("3 True", "-X"))]
    assert lines == ["starting Spark"]


def session_in(cache: Path, times: int) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    arguments = [sys.executable, "-c", SESSION, str(cache), str(times)]
    done = subprocess.run(
        arguments, check=True, capture_output=True, text=True, timeout=300, env=variables
    )
    return done.stdout
