"""A second JVM loads its classes from the archive that the first one wrote, if it is complete."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cloud_jobs.spark import class_archive
from cloud_jobs.spark.class_archive import (
    ARCHIVES_MAX,
    _complete,
    archive_in,
    archived,
    with_archive,
)
from cloud_jobs.spark.jars import JARS, Needed, cache_directory
from cloud_jobs.spark.java import OPTION
from cloud_jobs.spark.session import _settings

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


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_jvm_writes_an_archive_and_the_next_one_reads_it(tmp_path: Path) -> None:
    cache = tmp_path / "with space"
    cache.mkdir()
    (cache / "jars").symlink_to(cache_directory(None) / "jars")
    (cache / "classes-0.999999999").write_bytes(b"of a process that was interrupted")
    archive = archive_in(cache, [cache / "jars" / name for name in JARS])
    first = session_in(cache, 2)
    assert first.count("3 True") == 2
    assert first.count("-XX:ArchiveClassesAtExit=") == first.count("-XX:SharedArchiveFile=") == 1
    (written,) = cache.glob("classes-*")
    assert written.name == f"{archive.name}-{written.stat().st_size}.jsa"
    written.chmod(0o600)
    os.truncate(written, written.stat().st_size // 2)
    again = session_in(cache, 1)
    assert "-XX:ArchiveClassesAtExit=" in again
    first_line, second_line, last_line = (
        line for line in again.splitlines() if not line.startswith("-X")
    )
    assert (first_line, second_line) == ("starting Spark", "3 True")
    assert last_line.startswith("storing Spark's classes")
    (whole,) = cache.glob("classes-*")
    assert whole.name.endswith(f"-{whole.stat().st_size}.jsa")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_jvm_that_writes_too_slowly_is_killed_and_no_other_tries(tmp_path: Path) -> None:
    (tmp_path / "jars").symlink_to(cache_directory(None) / "jars")
    limit = "from cloud_jobs.spark import class_archive\nclass_archive.WRITING_SECONDS_MAX = 0.1\n"
    first, second = session_in(tmp_path, 1, limit + SESSION), session_in(tmp_path, 1)
    assert "-XX:ArchiveClassesAtExit=" in first
    assert "not stored in 0.1 s: later runs start as this one did" in first
    assert "3 True" in second
    assert "ArchiveClassesAtExit" not in second
    assert "storing" not in second
    assert [path.suffix for path in tmp_path.glob("classes-*")] == [".given-up"]


def test_after_a_jvm_was_killed_no_other_writes_an_archive_of_these_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_archive, "_end_jvm", lambda: False)
    lines: list[str] = []
    with archived({OPTION: "-Xss8m"}, tmp_path / "classes-1", lines.append) as first:
        assert "-XX:ArchiveClassesAtExit=" in first[OPTION]
    assert lines[-1] == "not stored in 60 s: later runs start as this one did"
    with archived({OPTION: "-Xss8m"}, tmp_path / "classes-1", lines.append) as second:
        assert second == {OPTION: "-Xss8m"}
    with archived({OPTION: "-Xss8m"}, tmp_path / "classes-2", lines.append) as other:
        assert "-XX:ArchiveClassesAtExit=" in other[OPTION]


def test_only_the_newest_archives_are_kept(tmp_path: Path) -> None:
    for number in range(ARCHIVES_MAX + 1):
        unfinished = tmp_path / f"classes-{number}.1"
        unfinished.write_bytes(b"classes")
        os.utime(unfinished, (number, number))
        _complete(unfinished, tmp_path / f"classes-{number}")
    kept = {f"classes-{number}-7.jsa" for number in range(1, ARCHIVES_MAX + 1)}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_a_cluster_on_one_machine_has_no_archive_and_its_executors_get_the_jars(
    tmp_path: Path,
) -> None:
    needed = Needed((), "", {"delta.jar": ""})
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "delta.jar").touch()
    cluster = {OPTION: "-Xss8m", "spark.master": "local-cluster[2,1,1024]"}
    with with_archive(cluster, tmp_path, needed, None, print) as chosen:
        assert chosen == cluster
    found = _settings(tmp_path, [jars / "delta.jar"], cluster, needed)
    assert found["spark.jars"] == f"file://{jars}/delta.jar"
    assert "spark.driver.extraClassPath" not in found


def session_in(cache: Path, times: int, session: str = SESSION) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    arguments = [sys.executable, "-c", session, str(cache), str(times)]
    done = subprocess.run(
        arguments, check=True, capture_output=True, text=True, timeout=300, env=variables
    )
    return done.stdout
