"""Commands for spark-submit that do the work of `oncegate COMMAND` without the gateway package.

The options of spark-submit set the master, the memory and the cores. The result is one JSON object
on standard output; progress is written to standard error. The exit codes are the same as for
`oncegate` (docs/commands.md).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cloud_jobs import main as jobs
from cloud_jobs import operations
from cloud_jobs.errors import IngestError, KeysFileError, TablesBusyError
from cloud_jobs.settings import NO_AUDIT_ALONE, IngestSettings

FAILED, USAGE, VIOLATION, GAPS, BUSY = 1, 2, 3, 4, 5
_VERBS: Final = ("ingest", "audit", "gold", "gaps", "requeue", "compact", "vacuum")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. If `arguments` is None, sys.argv is used."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.verb == "ingest" and options.no_audit and not options.gold:
        parser.error(NO_AUDIT_ALONE)
    try:
        result = _result_of(options)
    except IngestError as error:
        print(f"oncegate {options.verb}: {error}", file=sys.stderr)
        if isinstance(error, TablesBusyError):
            return BUSY
        return USAGE if isinstance(error, KeysFileError) else FAILED
    print(json.dumps(result), flush=True)
    if options.verb == "audit":
        return {"ok": 0, "violation": VIOLATION}.get(result["verdict"], GAPS)
    return GAPS if result.get("gaps_count") else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="oncegate_job.py", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name in _VERBS:
        verb = verbs.add_parser(name)
        verb.add_argument("--tables", required=True, metavar="URI")
        if name == "ingest":
            verb.add_argument("--source", required=True, metavar="URI")
            verb.add_argument("--keys", type=Path, metavar="FILE")
            verb.add_argument("--follow", type=float, metavar="SECONDS")
            verb.add_argument("--gold", action="store_true")
        if name in ("ingest", "gold"):
            verb.add_argument("--no-audit", action="store_true")
        if name in ("gaps", "requeue"):
            verb.add_argument("--gateway", metavar="ID")
        if name == "requeue":
            verb.add_argument("--reason")
        if name == "vacuum":
            verb.add_argument("--keep-days", type=int, default=7)
            verb.add_argument("--dry-run", action="store_true")
    return parser


def _result_of(options: argparse.Namespace) -> dict[str, Any]:
    root, verb = options.tables, options.verb
    if verb == "ingest":
        return _ingested(options)
    if verb == "audit":
        return jobs.audit(root, _print)
    given: dict[str, dict[str, Any]] = {
        "gold": {"is_audited": not vars(options).get("no_audit")},
        "gaps": {"gateway": vars(options).get("gateway")},
        "requeue": {name: vars(options).get(name) for name in ("reason", "gateway")},
        "compact": {},
        "vacuum": {"keep_days": vars(options).get("keep_days"),
                   "is_dry": vars(options).get("dry_run")},
    }  # fmt: skip
    result: dict[str, Any] = getattr(operations, verb)(root, _print, **given[verb])
    return result


def _ingested(options: argparse.Namespace) -> dict[str, Any]:
    settings = IngestSettings(
        source=options.source, tables=options.tables, keys=options.keys,
        is_gold_updated=options.gold, is_audited=not options.no_audit,
    )  # fmt: skip
    if options.follow is None:
        return jobs.run(settings, _print).as_json()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    return jobs.follow(settings, _print, seconds=options.follow, stop=stop).as_json()


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
