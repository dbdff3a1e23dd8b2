"""`oncegate audit`: proves that every message is accounted for."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.common.failures import (
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    EXIT_USAGE,
    EXIT_VIOLATION,
    CommandFailed,
)
from gateway.cli.common.options import GatewayOptions, with_sets
from gateway.cli.common.output import show
from gateway.process.files.disk_errors import line_of

EXIT_CODES = {"ok": EXIT_OK, "violation": EXIT_VIOLATION, "inconclusive": EXIT_INCONCLUSIVE}
"""Exit codes by verdict. An unreadable log has no verdict and counts as a failure."""

PROGRESS_SECONDS = 0.1
"""Interval between updates of the progress line."""

Say = Callable[[str], None]

SegmentsOption = Annotated[
    Path | None,
    typer.Option(
        "--segments",
        metavar="DIR",
        help="Audit the segments in DIR and its subdirectories instead.",
    ),
]
AuditedTablesOption = Annotated[
    str | None,
    typer.Option(
        "--tables", metavar="DIR", help="Audit the tables that `oncegate ingest` wrote instead."
    ),
]
PinnedKeysOption = Annotated[
    Path | None,
    typer.Option(
        "--keys", metavar="FILE", help="File of the public keys of the gateways that wrote the log."
    ),
]


@with_sets
def audit(
    *,
    segments: SegmentsOption = None,
    tables: AuditedTablesOption = None,
    keys: PinnedKeysOption = None,
    gateway: GatewayOptions,
) -> int:
    """Prove that every message was received once, released once and delivered once.

    The audit reads the gateway's log and database, and writes nothing. The
    broker may be running. The output lists the problems. The exit code is 0
    (ok), 3 (violation) or 4 (inconclusive).

    Examples:

        oncegate audit

        oncegate audit --segments /srv/landing --json

        oncegate audit --segments /srv/landing --keys /srv/keys

        oncegate audit --tables /srv/tables
    """
    if tables is not None:
        _refuse_with_tables(segments, keys)
    began = time.monotonic()
    with _progress() as say:
        if tables is not None:
            result = _audit_tables(tables, say)
        elif segments is not None:
            result = _audit_segments(segments, keys, say)
        else:
            result = _audit_data(gateway, keys, say)
    result["seconds"] = round(time.monotonic() - began, 3)
    from gateway.cli.tools.audit_report import render

    show(result, render, as_json=gateway.as_json)
    return EXIT_CODES[result["verdict"]]


def _refuse_with_tables(segments: Path | None, keys: Path | None) -> None:
    """Raise CommandFailed if --segments or --keys was given together with --tables."""
    if segments is not None:
        what = "--segments and --tables are given: use one of them"
    elif keys is not None:
        what = "--keys is for segments: the tables have the keys that `ingest` was given"
    else:
        return
    raise CommandFailed(f"oncegate audit: {what}", exit_code=EXIT_USAGE)


def _pinned(keys: Path | None) -> dict[str, list[str]]:
    """Return each gateway's public keys from the file given with --keys.

    Return an empty mapping if no file was given. Raises CommandFailed if the file cannot be used.
    """
    from gateway.tools.audit.keys_file import KeysFileError, load_keys

    try:
        return {} if keys is None else load_keys(keys)
    except (OSError, KeysFileError) as error:
        raise CommandFailed(f"oncegate audit: {line_of(error)}", exit_code=EXIT_USAGE) from error


def _counting(say: Say) -> Callable[[int, str], None]:
    """Return a progress callback that passes a line of text to `say`.

    The line contains the number of checked events and the name of the current file.
    """
    return lambda events, what: say(f"{events:,} events, {what}")


def _audit_segments(directory: Path, keys: Path | None, say: Say) -> dict[str, Any]:
    from gateway.tools.audit.run import Audit

    if not directory.is_dir():
        raise CommandFailed(
            f"oncegate audit: {directory} is not a directory: name one that contains segments"
        )
    audit_run = Audit(directory, _counting(say), _pinned(keys))
    return audit_run.folder(directory).as_json()


def _audit_data(gateway: GatewayOptions, keys: Path | None, say: Say) -> dict[str, Any]:
    import sqlite3

    from gateway.configuration.identity import known_log_identity
    from gateway.tools.audit.run import Audit

    configuration = gateway.configuration()
    directory = configuration.gateway.data_dir
    if not (directory / "broker.db").is_file():
        raise CommandFailed(
            f"oncegate audit: {directory} contains no broker.db: name the gateway's data directory "
            "with --data-dir, or a directory of segments with --segments"
        )
    audit_run = Audit(directory, _counting(say), _pinned(keys))
    try:
        return audit_run.data_directory(directory, known_log_identity(configuration)).as_json()
    except sqlite3.Error as error:
        raise CommandFailed(
            f"oncegate audit: {directory / 'broker.db'}: {line_of(error)}: if the broker does not "
            "start either, its log names what is damaged"
        ) from error


def _audit_tables(root: str, say: Say) -> dict[str, Any]:
    from gateway.cli.tables.ingest import set_up_spark

    set_up_spark()

    from cloud_jobs.errors import IngestError
    from cloud_jobs.main import audit as audit_of

    try:
        return audit_of(root, say)
    except IngestError as error:
        raise CommandFailed(f"oncegate audit: {line_of(error)}") from error


@contextmanager
def _progress() -> Iterator[Say]:
    """Yield a function that shows progress on a single line of the terminal.

    Without a terminal, the function does nothing.
    """
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
