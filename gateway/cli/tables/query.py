"""`oncegate query`: readings from the ingested tables, without Spark or Java."""

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_OK, CommandFailed
from gateway.cli.common.options import TablesOptions, with_sets
from gateway.cli.common.output import counted, show, write_file
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from rich.table import Table

ROWS_DEFAULT = 1_000
ROWS_MAX = 500_000
"""Maximum number of rows.

Each takes about 1 kB of memory, and one reading per second is 86,400 a day.
"""
DAYS_DEFAULT = 31
DAYS_MAX = 3_650
COLUMNS = ("time", "gateway", "device", "name", "value", "unit", "topic", "clock")
"""Columns of the CSV output."""

GatewayOption = Annotated[
    str | None, typer.Option("--gateway", metavar="ID", help="Only this gateway.")
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="Only this sensor.")
]
NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help='Only this quantity, like "temperature".'),
]
DayOption = Annotated[
    str | None,
    typer.Option("--day", metavar="YYYY-MM-DD", help="Show all readings of this UTC day."),
]
DaysOption = Annotated[
    int,
    typer.Option(
        "--days",
        min=1,
        max=DAYS_MAX,
        help="Number of newest days in which last readings are searched, without --day.",
    ),
]
LimitOption = Annotated[
    int, typer.Option("--limit", min=1, max=ROWS_MAX, help="Maximum number of rows.")
]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write CSV to this file.")
]


@with_sets
def query(
    *,
    gateway: GatewayOption = None,
    device: DeviceOption = None,
    name: NameOption = None,
    day: DayOption = None,
    days: DaysOption = DAYS_DEFAULT,
    limit: LimitOption = ROWS_DEFAULT,
    csv: CsvOption = False,
    output: OutputOption = None,
    tables: TablesOptions,
) -> int:
    """Show the last reading of each sensor, or all readings of a day, from the ingested tables.

    Needs neither Spark nor Java.

    Examples:

        oncegate query

        oncegate query --device kettle --day 2026-11-25

        oncegate query --tables s3a://bucket/tables --day 2026-11-25 --csv --output day.csv
    """
    from cloud_jobs.query.readings import Chosen, QueryError, last_readings, readings_of_day

    chosen = Chosen(gateway, device, name)
    on = None if day is None else _day_of(day)
    try:
        if on is None:
            rows = last_readings(tables.root, chosen, days=days, limit=limit)
        else:
            rows = readings_of_day(tables.root, chosen, day=on, limit=limit)
    except QueryError as error:
        raise CommandFailed(f"oncegate query: {line_of(error)}") from error
    _print(rows, on, as_csv=csv, output=output, as_json=tables.as_json)
    if len(rows) == limit:
        print(f"oncegate query: these are the first {limit:,}; more with --limit", file=sys.stderr)
    return EXIT_OK


def _print(
    rows: list[dict[str, Any]],
    day: datetime.date | None,
    *,
    as_csv: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    if as_csv or output is not None:
        _write_csv(rows, output)
        return
    found = [row | {"time": _written(row["time"])} for row in rows]
    show({"readings": found}, lambda _: _drawn(rows, day), as_json=as_json)


def _day_of(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise CommandFailed(
            f"--day {text!r}: use a day like 2026-11-25", exit_code=EXIT_CONFIGURATION
        ) from None


def _written(time: datetime.datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="milliseconds")


def _write_csv(rows: list[dict[str, Any]], output: Path | None) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        written = row | {"time": _written(row["time"])}
        writer.writerow([_plain(written[column]) for column in COLUMNS])
    if output is None:
        sys.stdout.write(text.getvalue())
        return
    write_file(output, text.getvalue())
    print(f"{output}: {counted(len(rows), 'reading')}")


def _plain(value: object) -> object:
    """Convert a value to the content of a CSV cell.

    A string that a spreadsheet would run as a formula is quoted.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def _drawn(rows: list[dict[str, Any]], day: datetime.date | None) -> "Table | str":
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return "no readings" if day is None else f"no readings on {day}"
    table = Table(box=None)
    table.add_column("time (UTC)", no_wrap=True)
    # Never truncated, because readings are selected by these values.
    table.add_column("gateway", overflow="fold")
    table.add_column("name", overflow="fold")
    table.add_column("value", justify="right", overflow="fold")
    table.add_column("unit", no_wrap=True)
    for row in rows:
        time = row["time"]
        shown = "unknown" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"
        # Names and strings come from sensors: print them as text, never as markup.
        cells = [shown, row["gateway"], _name_of(row), _shown(row["value"]), row["unit"] or ""]
        table.add_row(*[Text(ascii(each)[1:-1]) for each in cells])
    return table


def _name_of(row: dict[str, Any]) -> str:
    """Return a quantity's name, preceded by the device's name.

    The device's name is not repeated if the quantity's name already begins with it.
    """
    name, device = row["name"] or "", row["device"]
    return name if device is None or name.startswith(f"{device}/") else f"{device}: {name}"


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)
