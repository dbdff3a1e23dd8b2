"""`oncegate report`: the fleet as one HTML page, from the gold tables, without Java."""

import datetime
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.failures import EXIT_OK, CommandFailed
from gateway.cli.options import TablesOptions, with_sets
from gateway.cli.output import counted, show, write_file
from gateway.files.disk_errors import line_of

DAYS_MAX = 92
"""As in cloud_jobs.fleet_report.limits, which is not imported before the verb runs."""

OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
]
DaysOption = Annotated[
    int, typer.Option("--days", min=1, max=DAYS_MAX, help="Days that it shows, up to the newest.")
]


@with_sets
def report(
    *,
    output: OutputOption = Path("oncegate-report.html"),
    days: DaysOption = 30,
    tables: TablesOptions,
) -> int:
    """Write a page with plots of the fleet, from the tables that `oncegate gold` made.

    One file that loads nothing from anywhere. Neither Spark nor Java is needed.

    Examples:

        oncegate report

        oncegate report --tables /srv/tables --days 7 --output fleet.html
    """
    from cloud_jobs.fleet_report.figures import ReportError, read_figures
    from cloud_jobs.fleet_report.page import page_of

    try:
        figures = read_figures(tables.root, days, datetime.datetime.now(datetime.UTC))
    except ReportError as error:
        raise CommandFailed(f"oncegate report: {line_of(error)}") from error
    text = page_of(figures)
    write_file(output, text)
    result = {
        "page": str(output),
        "bytes": len(text.encode()),
        "tables_root": tables.root,
        "gateways": figures.gateways_count,
        "gateways_shown": len(figures.gateways),
        "days": len(figures.days),
        "through_batch": figures.through_batch,
    }
    gateways = counted(figures.gateways_count, "gateway")
    show(result, lambda _: f"{output}: {gateways}", as_json=tables.as_json)
    return EXIT_OK
