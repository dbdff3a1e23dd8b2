"""Subcommands for the tables of `oncegate ingest`: gold, gaps, requeue, compact, vacuum."""

import sys
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from gateway.cli.common.failures import (
    EXIT_BUSY,
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    CommandFailed,
)
from gateway.cli.common.options import TablesOptions, with_sets
from gateway.cli.common.output import counted, show
from gateway.cli.tables.ingest import NoAuditOption, set_up_spark
from gateway.process.files.disk_errors import line_of

GatewayOption = Annotated[
    str | None, typer.Option("--gateway", metavar="ID", help="Only this gateway.")
]
ReasonOption = Annotated[
    str | None,
    typer.Option(
        "--reason", metavar="REASON", help="Only segments that were rejected for this reason."
    ),
]
KEEP_DAYS_DEFAULT = 7
KEEP_DAYS_MAX = 3_650


@with_sets
def gold(
    *,
    no_audit: NoAuditOption = False,
    tables: TablesOptions,
) -> int:
    """Update the tables that `oncegate report` reads, up to the last ingested batch.

    `oncegate ingest --gold` does the same at the end of an ingestion, and takes
    less time, because Spark is already running.

    Examples:

        oncegate gold

        oncegate gold --tables /srv/tables --no-audit
    """
    from cloud_jobs.report_text import gold_line

    root = tables.root
    result = _done("gold", lambda jobs, say: jobs.gold(root, say, is_audited=not no_audit))
    show(result, gold_line, as_json=tables.as_json)
    return EXIT_OK


@with_sets
def gaps(
    *,
    gateway: GatewayOption = None,
    tables: TablesOptions,
) -> int:
    """List missing events and readings.

    Exits with 0, or with 4 if any are missing.

    Examples:

        oncegate gaps --tables /srv/tables --json
    """
    root = tables.root
    result = _done("gaps", lambda jobs, say: jobs.gaps(root, say, gateway=gateway))
    show(result, _gaps_text, as_json=tables.as_json)
    return EXIT_INCONCLUSIVE if result["gaps_count"] else EXIT_OK


def _gaps_text(result: dict[str, Any]) -> str:
    events = counted(result["missing"], "event")
    readings = counted(result["readings_missing"], "reading")
    lines = [f"{counted(result['gaps_count'], 'gap')}, {events} and {readings} missing"]
    for row in result["gaps"]:
        where = f"{row['from_sequence']}-{row['to_sequence']}" if row["missing"] else row["kind"]
        segment = f"  before segment {row['segment']}" if row["segment"] is not None else ""
        lines.append(f"{row['gateway']}  {where}{segment}: {row['detail']}")
    return "\n".join(lines)


@with_sets
def requeue(
    *,
    gateway: GatewayOption = None,
    reason: ReasonOption = None,
    tables: TablesOptions,
) -> int:
    """Queue rejected segments so that the next `oncegate ingest` reads them again.

    Examples:

        oncegate requeue --reason version
    """
    root = tables.root
    result = _done(
        "requeue", lambda jobs, say: jobs.requeue(root, say, reason=reason, gateway=gateway)
    )
    show(result, lambda r: f"{counted(r['segments'], 'segment')} queued for the next ingest",
         as_json=tables.as_json)  # fmt: skip
    return EXIT_OK


@with_sets
def compact(
    tables: TablesOptions,
) -> int:
    """Merge each day's small files into a few large ones, sorted by gateway and sequence number.

    Examples:

        oncegate compact --tables /srv/tables
    """
    root = tables.root
    result = _done("compact", lambda jobs, say: jobs.compact(root, say))
    show(result, _compacted_text, as_json=tables.as_json)
    return EXIT_OK


def _compacted_text(result: dict[str, Any]) -> str:
    return "\n".join(
        f"{name}: {counted(row['files_removed'], 'file')} became {row['files_added']:,}"
        for name, row in result["tables"].items()
    )


@with_sets
def vacuum(
    *,
    keep_days: Annotated[
        int,
        typer.Option("--keep-days", min=1, max=KEEP_DAYS_MAX,
                     help="Days for which files of older table versions are kept, because a "
                         "job may still read them."),
    ] = KEEP_DAYS_DEFAULT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the files.")] = False,
    tables: TablesOptions,
) -> int:  # fmt: skip
    """Delete files that the tables have not used for --keep-days days.

    Examples:

        oncegate vacuum --keep-days 30 --dry-run
    """
    root = tables.root
    result = _done(
        "vacuum", lambda jobs, say: jobs.vacuum(root, say, keep_days=keep_days, is_dry=dry_run)
    )
    done = "would be removed" if dry_run else "removed"
    show(result, lambda r: f"{counted(r['files'], 'file')} {done}, horizon {keep_days} days",
         as_json=tables.as_json)  # fmt: skip
    return EXIT_OK


def _progress(began: float) -> Callable[[str], None]:
    """Return a function that prints a progress line with the seconds since `began`."""
    return lambda line: print(f"[{time.monotonic() - began:4.0f} s] {line}", file=sys.stderr)


def _done(
    command: str, work: Callable[[Any, Callable[[str], None]], dict[str, Any]]
) -> dict[str, Any]:
    """Run a job and return its result. Print progress on standard error.

    Raises CommandFailed if the job fails.
    """
    set_up_spark()

    from cloud_jobs import operations
    from cloud_jobs.errors import IngestError, TablesBusyError

    try:
        return work(operations, _progress(time.monotonic()))
    except IngestError as error:
        code = EXIT_BUSY if isinstance(error, TablesBusyError) else EXIT_FAILED
        raise CommandFailed(f"oncegate {command}: {line_of(error)}", exit_code=code) from error
