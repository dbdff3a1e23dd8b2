"""`oncegate report`: writes HTML pages about the fleet and its sensors.

The command reads the tables directly, so that it runs on machines without Spark and Java.
"""

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_OK, CommandFailed
from gateway.cli.common.options import TablesOptions, with_sets
from gateway.cli.common.output import counted, show
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from cloud_jobs.fleet_report.folder import Written

DAYS_MAX = 92
"""Days in a report, at most.

The same value is in cloud_jobs.fleet_report.limits, which is imported only when the command runs.
"""
PROGRESS_FROM = 200
"""Minimum number of gateways for which progress is shown. Fewer take only seconds."""

OutputOption = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="Directory of the pages."),
]
DaysOption = Annotated[
    int,
    typer.Option(
        "--days", min=1, max=DAYS_MAX, help="Number of newest days that the pages cover, at most."
    ),
]
NamesOption = Annotated[
    Path | None,
    typer.Option(
        "--names",
        metavar="FILE",
        help="CSV file of names and sites, with the columns gateway,device,name,site.",
    ),
]


@with_sets
def report(
    *,
    output: OutputOption = Path("oncegate-report"),
    days: DaysOption = 30,
    names: NamesOption = None,
    tables: TablesOptions,
) -> int:
    """Write HTML pages about the fleet, its gateways and their sensors.

    The data comes from the tables that `oncegate gold` updates. To read the
    pages, open index.html in the output directory. The pages need no server,
    and the command needs neither Spark nor Java.

    Examples:

        oncegate report

        oncegate report --tables /srv/tables --names names.csv --output fleet
    """
    written = _written(tables.root, output, days, names)
    if not written.figures.has_sensors:
        print(
            "oncegate report: the tables have no sensors yet: run `oncegate gold`, then this again",
            file=sys.stderr,
        )
    if written.names_unused:
        names_unused = counted(written.names_unused, "gateway")
        print(f"oncegate report: {names}: {names_unused} not in the tables", file=sys.stderr)
    show(_result_of(written), _line, as_json=tables.as_json)
    return EXIT_OK


def _written(root: str, output: Path, days: int, names: Path | None) -> "Written":
    from cloud_jobs.fleet_report.folder import write_report
    from cloud_jobs.fleet_report.names import NO_NAMES, NamesError, read_names
    from cloud_jobs.fleet_report.open_tables import ReportError

    try:
        return write_report(
            root,
            output,
            days=days,
            names=NO_NAMES if names is None else read_names(names),
            now=datetime.datetime.now(datetime.UTC),
            progress=_progress,
        )
    except NamesError as error:
        raise CommandFailed(f"--names {error}", exit_code=EXIT_CONFIGURATION) from error
    except ReportError as error:
        raise CommandFailed(f"oncegate report: {line_of(error)}") from error


def _result_of(written: "Written") -> dict[str, Any]:
    figures = written.figures
    return {
        "page": str(written.page),
        "pages": written.pages,
        "bytes": written.bytes_written,
        "tables_root": figures.tables_root,
        "gateways": figures.gateways_count,
        "gateways_shown": len(figures.gateways),
        "sensors": written.sensors,
        "sensors_silent": figures.sensors.silent_count,
        "need_attention": written.attention,
        "names_unused": written.names_unused,
        "days": len(figures.days),
        "through_batch": figures.through_batch,
    }


def _line(result: dict[str, Any]) -> str:
    kinds = ", ".join(
        f"{title.lower()} {count:,}" for title, count in result["need_attention"].items()
    )
    gateways, sensors = counted(result["gateways"], "gateway"), counted(result["sensors"], "sensor")
    return f"{result['page']}: {gateways}, {sensors}\n{kinds or 'nothing needs attention'}"


def _progress(written: int, count: int) -> None:
    """Show progress on a terminal, for example `1,200 of 3,000 gateways`.

    `written` is the number of gateways that already have their pages, and `count` is the number of
    all gateways. Nothing is shown if there are only a few gateways.
    """
    if sys.stderr.isatty() and count > PROGRESS_FROM:
        end = "\n" if written == count else ""
        print(f"\r{written:,} of {count:,} gateways", end=end, file=sys.stderr, flush=True)
