"""The choice of Java for Spark: from JAVA_HOME or PATH if it is usable, else one of Debian's."""

import os
from pathlib import Path

import pytest

from cloud_jobs.spark.java import JAVA_VERSIONS, _java_version, choose_java


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Prepend a directory to PATH and return it. A test writes a `java` script into it."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    # Set here so that the change by the command is undone after the test.
    monkeypatch.setenv("JAVA_HOME", "")
    return directory / "java"


def answer(java: Path, version: str) -> None:
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.2"])
def test_a_java_that_spark_runs_on_is_taken_as_it_is(java: Path, version: str) -> None:
    answer(java, version)
    assert choose_java()
    assert os.environ["JAVA_HOME"] == ""


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "23"])
def test_another_java_is_passed_over_for_one_that_debian_has(java: Path, version: str) -> None:
    answer(java, version)
    assert _java_version(str(java)) not in JAVA_VERSIONS
    installed = sorted(Path("/usr/lib/jvm").glob("java-*-openjdk-*"))
    if choose_java():
        assert Path(os.environ["JAVA_HOME"]) in installed


def test_something_else_called_java_is_no_java(java: Path) -> None:
    java.write_text("#!/bin/sh\nexit 3\n")
    java.chmod(0o755)
    assert _java_version(str(java)) is None
    assert _java_version(str(java.with_name("missing"))) is None
