"""Search for the Java that Spark runs on, and the error if there is none."""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

# Debian 12 has the first, Debian 13 the second.
# requirements/install-debian-packages has the same versions.
JAVA_VERSIONS: Final = (17, 21)
JAVA_NEEDED: Final = (
    f"Spark needs Java {' or '.join(map(str, JAVA_VERSIONS))}: install openjdk-17-jre-headless "
    "(Debian 12) or openjdk-21-jre-headless (Debian 13), or set JAVA_HOME"
)

CLASSES: Final = "-XX:MetaspaceSize=256m"
"""An option of every JVM: room for Spark's classes, which else are searched for garbage, with all
else, several times at the start."""

SHORT_RUN: Final = (
    f"-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC {CLASSES}"
)
"""Options of a JVM that will not run for long: without the second compiler, which takes half of the
processors and pays off after minutes; with room for all that the first one makes of Spark, which
else is thrown away and made again; without threads that collect garbage beside those that work."""

LONG_RUN: Final = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000 "
    f"-XX:ReservedCodeCacheSize=240m -XX:+UseParallelGC {CLASSES}"
)
"""Options of a JVM for large batches: the second compiler gets code after ten times as many calls
as by default. Loops over rows soon reach that. Planning queries does not, and compiling the planner
took half of the processor time (docs/decisions/0158). The collector is the one that costs the rows
least: 6 % less time than with G1."""

OPTION: Final = "spark.driver.defaultJavaOptions"
"""The setting of Spark with these options."""
JVM_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Variables of the environment from which Java takes options."""


def choose_java() -> bool:
    """Return True if the Java that Spark will use (JAVA_HOME, else PATH) is a supported version.

    Where it is not, JAVA_HOME is set to one that Debian has put beside it.
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


def _java_version(java: str) -> int | None:
    try:
        outcome = subprocess.run(
            [java, "-version"], check=False, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)', outcome.stderr)
    return int(match[1]) if match else None
