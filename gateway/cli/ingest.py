"""`oncegate ingest`: the Spark job over what was uploaded, with its own set-up the first time."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.failures import (
    EXIT_BUSY,
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    EXIT_USAGE,
    CommandFailed,
    line_of,
)
from gateway.cli.options import (
    ConfigOption,
    DataDirOption,
    JsonOption,
    TenantOption,
    configuration_of,
)
from gateway.cli.output import show

if TYPE_CHECKING:
    from cloud_jobs.report import IngestReport
    from cloud_jobs.settings import IngestSettings

# Spark 4 runs on these; Debian 12 has the first, Debian 13 the second.
# requirements/install-debian-packages has the same versions.
JAVA_VERSIONS = (17, 21)
PACKAGES = ("pyspark", "pyarrow", "pandas")
"""What the job needs; a version before this one set up only the first."""
STANDARD_ERROR = 2

SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="URI", help="Uploaded segments: DATA_DIR/uploaded"),
]
TablesOption = Annotated[
    str | None, typer.Option("--tables", metavar="URI", help="Delta tables: DATA_DIR/tables")
]
JarsOption = Annotated[
    Path | None,
    typer.Option("--jars", metavar="DIR", help="Spark's jars, where there is no Maven Central."),
]
FollowOption = Annotated[
    float | None,
    typer.Option(
        "--follow", metavar="SECONDS", min=1, help="Go on: look again so often, until SIGTERM."
    ),
]
KeysOption = Annotated[
    Path | None,
    typer.Option("--keys", metavar="FILE", help="Public keys of gateways; others: their first."),
]


def ingest(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    source: SourceOption = None,
    tables: TablesOption = None,
    keys: KeysOption = None,
    jars: JarsOption = None,
    follow: FollowOption = None,
    as_json: JsonOption = False,
    tenant: TenantOption = None,
) -> int:
    """Turn uploaded session logs into tables, and print what was found.

    A second run adds what is new and nothing twice. Java and PySpark are set up the first time;
    where nothing has landed since the last run they are not needed.
    Ends with 0, or with 4 where the tables have gaps: events that have not landed.

    Examples:

        oncegate ingest

        oncegate ingest --source /srv/landing --tables /srv/tables --keys /srv/keys

        oncegate ingest --source s3a://landing/fleet --tables s3a://lake/oncegate --follow 60
    """
    from cloud_jobs.report_text import render
    from cloud_jobs.settings import IngestSettings

    configuration = configuration_of(config, tenant=tenant, gateway__data_dir=data_dir)
    directory = configuration.gateway.data_dir.absolute()
    settings = IngestSettings(
        source=source or _directory_of(configuration.upload_target),
        tables=tables or str(directory / "tables"),
        cache_dir=None,
        keys=keys,
        jars=jars,
    )
    report = _report_of(settings, follow)
    show(report.as_json(), lambda _: render(report), as_json=as_json)
    return EXIT_INCONCLUSIVE if report.gaps_count else EXIT_OK


def _report_of(settings: "IngestSettings", follow: float | None = None) -> "IngestReport":
    """Return what the run found, of several the last one. Raises CommandFailed."""
    from rich.console import Console

    from cloud_jobs.unchanged import report_if_unchanged

    console = Console(stderr=True, highlight=False)

    def progress(line: str) -> None:
        console.print(line, style="dim", markup=False)

    report = report_if_unchanged(settings) if follow is None else None
    if report is not None:
        progress("nothing has landed since the last run: Spark is not started")
        return report
    set_up_spark()

    from cloud_jobs import main as jobs
    from cloud_jobs.errors import IngestError, KeysFileError, TablesBusyError

    try:
        if follow is None:
            return jobs.run(settings, progress)
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        return jobs.follow(settings, progress, seconds=follow, stop=stop)
    except IngestError as error:
        codes = {KeysFileError: EXIT_USAGE, TablesBusyError: EXIT_BUSY}
        code = codes.get(type(error), EXIT_FAILED)
        raise CommandFailed(f"oncegate ingest: {line_of(error)}", exit_code=code) from error


def _directory_of(target: str) -> str:
    """Return a file URL's path; other URLs as they are."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(target)
    return unquote(parts.path) if parts.scheme == "file" else target


def set_up_spark() -> None:
    """Make sure that Java and PySpark are there. Raises CommandFailed with what to install."""
    if all(map(find_spec, PACKAGES)) and _java_is_usable():
        return
    checkout = _checkout()
    if checkout is None:
        versions = " or ".join(map(str, JAVA_VERSIONS))
        raise CommandFailed(
            f"Spark needs Java {versions} (apt-get install openjdk-17-jre-headless on "
            "Debian 12, openjdk-21-jre-headless on Debian 13; or set JAVA_HOME) "
            "and PySpark (pip install 'oncegate[cloud]')"
        )
    print("Setting up Spark, once: Java and PySpark ...", file=sys.stderr, flush=True)
    outcome = subprocess.run(
        ["make", "--no-print-directory", "-C", str(checkout), "cloud"],
        check=False,
        stdin=subprocess.DEVNULL,
        # Standard output is for the result alone.
        stdout=STANDARD_ERROR,
    )
    if outcome.returncode != 0:
        raise CommandFailed("Spark could not be set up: see above, then run oncegate ingest again")
    # The interpreter looked at its package directory before PySpark was there.
    import importlib

    importlib.invalidate_caches()
    if not _java_is_usable():
        raise CommandFailed("Java is installed but `java` is not 17 or 21: set JAVA_HOME to one")


def _checkout() -> Path | None:
    """Return the source tree whose virtual environment runs this, if any."""
    root = Path(__file__).resolve().parents[2]
    is_its_own = Path(sys.prefix).resolve() == root / ".venv"
    return root if is_its_own and (root / "Makefile").exists() and shutil.which("make") else None


def _java_is_usable() -> bool:
    """Return whether the Java that Spark will take (JAVA_HOME, else PATH) is one of its versions.

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
