"""Finds Java for Spark, or explains in an error message how to install it."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from cloud_jobs.errors import IngestError

# Debian 12 has Java 17, Debian 13 has Java 21. requirements/install-debian-packages lists the same
# versions.
JAVA_VERSIONS: Final = (17, 21)
JAVA_NEEDED: Final = (
    f"Spark needs Java {' or '.join(map(str, JAVA_VERSIONS))}: install openjdk-17-jre-headless "
    "(Debian 12) or openjdk-21-jre-headless (Debian 13), or set JAVA_HOME"
)

CLASSES: Final = "-XX:MetaspaceSize=256m"
"""Option of every JVM: initial memory for Spark's classes. With less memory, the JVM collects
garbage several times while it starts."""

SHORT_RUN: Final = (
    f"-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC {CLASSES}"
)
"""JVM options for a short run. The second compiler is off, because it takes half of the processor
time and saves time only after minutes. The code cache has room for all code of the first compiler,
so no code is discarded and compiled again. The garbage collector has no threads of its own."""

LONG_RUN: Final = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000 "
    f"-XX:ReservedCodeCacheSize=240m -XX:+UseParallelGC {CLASSES}"
)
"""JVM options for large batches. A method or loop must run ten times as often as with the default
options before the second compiler compiles it. Loops over rows soon do. The query planner does not,
and compiling the planner took half of the processor time (docs/decisions/0158). This garbage
collector slows row processing least: it takes 6 % less time than G1."""

OPTION: Final = "spark.driver.defaultJavaOptions"
"""The Spark setting that passes options to the JVM."""
JVM_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Environment variables from which Java reads options."""


def choose_java() -> bool:
    """Choose the Java that Spark will use. Return False if no supported version is installed.

    Spark uses the Java in JAVA_HOME, or else the one in PATH. If this Java is not supported,
    JAVA_HOME is set to a supported version in /usr/lib/jvm.
    """
    home = os.environ.get("JAVA_HOME")
    if _java_version(str(Path(home, "bin", "java")) if home else "java") in JAVA_VERSIONS:
        return True
    for version in JAVA_VERSIONS:
        for other in sorted(Path("/usr/lib/jvm").glob(f"java-{version}-openjdk-*")):
            if _java_version(str(other / "bin" / "java")) == version:
                os.environ["JAVA_HOME"] = str(other)
                return True
    return False


def check_java() -> None:
    """Raise IngestError if there is no Java in JAVA_HOME or PATH."""
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") or (home and Path(home, "bin", "java").is_file())):
        raise IngestError(f"there is no Java. {JAVA_NEEDED}")


def _java_version(java: str) -> int | None:
    try:
        outcome = subprocess.run(
            [java, "-version"], check=False, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)', outcome.stderr)
    return int(match[1]) if match else None
