"""`make soak`: all attacks together, alternating with calm windows, next to honest clients.

    python -m tests.instruments.benchmarks.hostile.soak [--minutes N] [--code PATH] [--write]

The exit code is 1 if a limit is exceeded. It is 2 if nothing could be measured: the broker did not
start, or calm windows differ from each other as much as attacked ones may.
"""

import argparse
import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

import uvloop
from rich.console import Console

from tests.instruments.benchmarks.brokers import COMPILED, BenchmarkFailed
from tests.instruments.benchmarks.hostile.figures import RATIO_MOST, worst_of
from tests.instruments.benchmarks.hostile.report import with_part
from tests.instruments.benchmarks.hostile.siege import ROOT, come_first
from tests.instruments.benchmarks.hostile.soak.report import MARKERS, part_of
from tests.instruments.benchmarks.hostile.soak.run import KINDS, Plan, soak
from tests.instruments.benchmarks.hostile.soak.verdict import Soak, failures_of
from tests.instruments.benchmarks.machine import machine_of

EXIT_TERMINATED: Final = 128 + signal.SIGTERM
LIMITS_PAGE: Final = ROOT / "docs" / "limits.md"


def main() -> int:
    """Measure, report, and write the document with `--write`. Return the exit code."""
    arguments = _arguments()
    console = Console(highlight=False)
    directory: Path = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)
    # On SIGTERM the program still ends its broker and its attackers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    machine = machine_of(directory)
    come_first(console.print)
    plan = _plan_of(arguments)
    try:
        found = uvloop.run(soak(arguments.code.resolve(), directory, plan, console.print))
    except (BenchmarkFailed, OSError, TimeoutError, AssertionError) as error:
        console.print(f"make soak: {error}", style="red", markup=False)
        return 2
    build = "compiled" if arguments.code.resolve() != ROOT else "plain Python"
    part = part_of(found, plan, machine, build)
    (directory / "soak.json").write_text(json.dumps(asdict(found), indent=1) + "\n")
    (directory / "soak.md").write_text(part)
    console.print(part, markup=False)
    if arguments.write:
        LIMITS_PAGE.write_text(with_part(LIMITS_PAGE.read_text(), part, MARKERS))
    return _exit_code_of(found, console)


def _exit_code_of(found: Soak, console: Console) -> int:
    failures = failures_of(found, KINDS, latency=True)
    for failure in failures:
        console.print(f"make soak: {failure}", style="red", markup=False)
    worst = max(worst_of(found.noise(), each)[1] for each in ("p50", "p99"))
    if failures and worst > RATIO_MOST:
        console.print(
            f"make soak: machine too busy: calm windows differ by a factor of {worst:.1f}"
        )
        return 2
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--minutes", type=float, default=10.0, help="approximate total")
    parser.add_argument(
        "--code",
        type=Path,
        default=COMPILED if COMPILED.exists() else ROOT,
        help="directory that contains `gateway`; `.` is the source, not compiled",
    )
    parser.add_argument(
        "--share", type=float, default=Plan.share, help="fraction of each attack's usual rate"
    )
    parser.add_argument("--window", type=float, default=Plan.window, help="seconds per window")
    parser.add_argument("--write", action="store_true", help="write the result into docs/limits.md")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "hostile")
    return parser.parse_args()


def _plan_of(arguments: argparse.Namespace) -> Plan:
    plan = Plan(window=arguments.window, share=arguments.share)
    seconds_a_round = 2 * (plan.window + plan.settle)
    rounds = round((60 * arguments.minutes - plan.window - plan.settle) / seconds_a_round)
    return Plan(window=plan.window, share=plan.share, rounds=max(2, rounds))


if __name__ == "__main__":
    sys.exit(main())
