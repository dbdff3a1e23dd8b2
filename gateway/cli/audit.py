"""`oncegate audit`: is every message accounted for?"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.failures import (
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    EXIT_USAGE,
    EXIT_VIOLATION,
    CommandFailed,
    line_of,
)
from gateway.cli.options import ConfigOption, DataDirOption, JsonOption, configuration_of
from gateway.cli.output import show

EXIT_CODES = {"ok": EXIT_OK, "violation": EXIT_VIOLATION, "inconclusive": EXIT_INCONCLUSIVE}
"""By verdict. A log that cannot be read has no verdict: that is a failure."""

PROGRESS_SECONDS = 0.1
"""Between two changes of the line that shows the progress."""

Say = Callable[[str], None]


def audit(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    segments: Annotated[
        Path | None,
        typer.Option("--segments", metavar="DIR", help="Audit the segments below DIR instead."),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option("--tables", metavar="DIR", help="Audit the tables of `ingest` instead."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Prove that every message was received once, released once and delivered once.

    Reads the gateway's log and database, whether the broker runs or not, and writes nothing.
    Ends with 0 (ok), 3 (violation) or 4 (inconclusive), and names every exception.

    Examples:

        oncegate audit

        oncegate audit --segments /srv/landing --json

        oncegate audit --tables /srv/tables
    """
    if segments is not None and tables is not None:
        raise CommandFailed(
            "oncegate audit: --segments and --tables are given: use one of them",
            exit_code=EXIT_USAGE,
        )
    began = time.monotonic()
    with _progress() as say:
        if tables is not None:
            result = _audit_tables(tables, say)
        elif segments is not None:
            result = _audit_segments(segments, say)
        else:
            result = _audit_data(config, data_dir, say)
    result["seconds"] = round(time.monotonic() - began, 3)
    from gateway.cli.audit_report import render

    show(result, render, as_json=as_json)
    return EXIT_CODES[result["verdict"]]


def _audit_segments(directory: Path, say: Say) -> dict[str, Any]:
    from gateway.audit.run import Audit

    if not directory.is_dir():
        raise CommandFailed(
            f"oncegate audit: {directory} is no directory: name one that holds segments"
        )
    audit_run = Audit(directory, lambda events, what: say(f"{events:,} events, {what}"))
    return audit_run.folder(directory).as_json()


def _audit_data(config: Path | None, data_dir: Path | None, say: Say) -> dict[str, Any]:
    import sqlite3

    from gateway.audit.run import Audit
    from gateway.configuration.identity import known_id

    settings = configuration_of(config, gateway__data_dir=data_dir).gateway
    directory = settings.data_dir
    if not (directory / "broker.db").is_file():
        raise CommandFailed(
            f"oncegate audit: {directory} holds no broker.db: name the gateway's data directory "
            "with --data-dir, or a directory of segments with --segments"
        )
    audit_run = Audit(directory, lambda events, what: say(f"{events:,} events, {what}"))
    try:
        return audit_run.data_directory(directory, settings.id or known_id(directory)).as_json()
    except sqlite3.Error as error:
        raise CommandFailed(
            f"oncegate audit: {directory / 'broker.db'}: {line_of(error)}: if the broker does not "
            "start either, its log names what is damaged"
        ) from error


def _audit_tables(root: str, say: Say) -> dict[str, Any]:
    from gateway.cli.ingest import set_up_spark

    set_up_spark()

    from cloud_jobs.errors import IngestError
    from cloud_jobs.main import audit as audit_of

    try:
        return audit_of(root, say)
    except IngestError as error:
        raise CommandFailed(f"oncegate audit: {line_of(error)}") from error


@contextmanager
def _progress() -> Iterator[Say]:
    """Yield what writes progress to one line of a terminal, or does nothing where there is none."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    last = 0.0
    with console.status("reading") as status:

        def say(text: str) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= PROGRESS_SECONDS:
                last = now
                status.update(text)

        yield say
