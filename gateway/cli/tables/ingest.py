"""`oncegate ingest`: the Spark job that reads uploaded segments. The first run installs Spark."""

import shutil
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.common.failures import (
    EXIT_BUSY,
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    EXIT_USAGE,
    CommandFailed,
)
from gateway.cli.common.options import GatewayOptions, TablesOption, tables_of, with_sets
from gateway.cli.common.output import show
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from cloud_jobs.report import IngestReport
    from cloud_jobs.settings import IngestSettings

PACKAGES = ("pyspark", "pyarrow", "pandas")
"""Python packages that the job needs."""
STANDARD_ERROR = 2

SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="URI",
        help="Directory or URL of the uploaded segments. Default: DATA_DIR/uploaded.",
    ),
]
JarsOption = Annotated[
    Path | None,
    typer.Option(
        "--jars",
        metavar="DIR",
        help="Directory of Spark's jars, if Maven Central cannot be reached.",
    ),
]
FollowOption = Annotated[
    float | None,
    typer.Option(
        "--follow",
        metavar="SECONDS",
        min=1,
        help="Run until SIGTERM, and look for new segments at this interval.",
    ),
]
KeysOption = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="File of public keys of gateways. Of other gateways, the first key seen is trusted.",
    ),
]
GoldOption = Annotated[
    bool,
    typer.Option(
        "--gold", help="Then update the tables that `oncegate report` reads, in the same run."
    ),
]
NoAuditOption = Annotated[
    bool,
    typer.Option("--no-audit", help="Do not audit, and keep the verdicts of the previous run."),
]


@with_sets
def ingest(
    *,
    source: SourceOption = None,
    tables: TablesOption = None,
    keys: KeysOption = None,
    jars: JarsOption = None,
    follow: FollowOption = None,
    gold: GoldOption = False,
    no_audit: NoAuditOption = False,
    gateway: GatewayOptions,
) -> int:
    """Turn uploaded session logs into tables, and print a summary.

    Another run adds only new data. Java and PySpark are set up on the first
    run. Exits with 0, or with 4 if events are missing from the tables.

    Examples:

        oncegate ingest

        oncegate ingest --source /srv/landing --tables /srv/tables --keys /srv/keys

        oncegate ingest --source s3a://landing/fleet --tables s3a://lake/oncegate --follow 60 --gold
    """
    from cloud_jobs.report_text import render
    from cloud_jobs.settings import IngestSettings

    configuration = gateway.configuration()
    settings = IngestSettings(
        source=source or _directory_of(configuration.upload_target),
        tables=tables or tables_of(configuration),
        cache_dir=None,
        keys=keys,
        jars=jars,
        is_gold_updated=gold,
        is_audited=_is_audited(is_gold=gold, no_audit=no_audit),
    )
    report = _report_of(settings, follow)
    show(report.as_json(), lambda _: render(report), as_json=gateway.as_json)
    return EXIT_INCONCLUSIVE if report.gaps_count else EXIT_OK


def _is_audited(*, is_gold: bool, no_audit: bool) -> bool:
    """Return True if the tables are to be audited.

    Raises CommandFailed if --no-audit is given without --gold.
    """
    from cloud_jobs.settings import NO_AUDIT_ALONE

    if no_audit and not is_gold:
        raise CommandFailed(f"oncegate ingest: {NO_AUDIT_ALONE}", exit_code=EXIT_USAGE)
    return not no_audit


def _report_of(settings: "IngestSettings", follow: float | None = None) -> "IngestReport":
    """Run the job and return its report. Raises CommandFailed if the job fails.

    `follow` is the interval in seconds at which the job is repeated until SIGTERM, or None for a
    single run. The report describes the last run.
    """
    from rich.console import Console

    console = Console(stderr=True, highlight=False)

    def progress(line: str) -> None:
        console.print(line, style="dim", markup=False)

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
    """Return the path of a `file:` URL. Any other target is returned unchanged."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(target)
    return unquote(parts.path) if parts.scheme == "file" else target


def set_up_spark() -> None:
    """Check that Java and PySpark are available. In a checkout, install what is missing.

    Raises CommandFailed if Spark cannot be used.
    """
    from cloud_jobs.spark.java import JAVA_NEEDED, choose_java

    if all(map(find_spec, PACKAGES)) and choose_java():
        return
    checkout = _checkout()
    if checkout is None:
        raise CommandFailed(
            f"{JAVA_NEEDED}; and PySpark: install the wheel file with its extra, "
            "'./oncegate-VERSION-PLATFORM.whl[cloud]' (docs/install.md)"
        )
    print("Setting up Spark, once: Java and PySpark ...", file=sys.stderr, flush=True)
    outcome = subprocess.run(
        ["make", "--no-print-directory", "-C", str(checkout), "cloud"],
        check=False,
        stdin=subprocess.DEVNULL,
        # Standard output is reserved for the result.
        stdout=STANDARD_ERROR,
    )
    if outcome.returncode != 0:
        raise CommandFailed("Spark could not be set up: see above, then run oncegate ingest again")
    # The interpreter cached its package directory before PySpark was installed.
    import importlib

    importlib.invalidate_caches()
    if not choose_java():
        raise CommandFailed(f"Spark does not run on the installed Java. {JAVA_NEEDED}")


def _checkout() -> Path | None:
    """Return the checkout whose virtual environment runs this process.

    Return None if there is no such checkout, or if `make` is not installed.
    """
    root = Path(__file__).resolve().parents[3]
    is_its_own = Path(sys.prefix).resolve() == root / ".venv"
    return root if is_its_own and (root / "Makefile").exists() and shutil.which("make") else None
