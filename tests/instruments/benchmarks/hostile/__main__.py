"""`make hostile`: measure an honest client next to each attack, or next to the attacks named.

    python -m tests.instruments.benchmarks.hostile [--code PATH] [--rounds N]
        [--directory PATH] [ATTACK ...]

The exit code is 1 if a row exceeds its limits. It is 2 if nothing could be measured: the broker did
not start, or the machine is so busy that even the row without an attack exceeds its limits.
"""

import argparse
import json
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.instruments.benchmarks.brokers import COMPILED, BenchmarkFailed
from tests.instruments.benchmarks.hostile.attack import Attack
from tests.instruments.benchmarks.hostile.attackers import ATTACKS, BY_NAME, CONTROL
from tests.instruments.benchmarks.hostile.besieged import besieged
from tests.instruments.benchmarks.hostile.report import cells_of, part_of, table_of, with_part
from tests.instruments.benchmarks.hostile.rows import (
    Row,
    failures_of_row,
    floor_of,
    merged_of,
    noise_of,
)
from tests.instruments.benchmarks.hostile.siege import ROOT, Plan, besiege, come_first
from tests.instruments.benchmarks.machine import machine_of

LIMITS_PAGE: Final = ROOT / "docs" / "limits.md"
ROUNDS: Final = 3
AGAIN_MINUTES: Final = 20.0
EXIT_TERMINATED: Final = 128 + signal.SIGTERM
REFRESHES_A_SECOND: Final = 1
"""Refreshes of the progress bar, which runs in the process whose latencies are measured."""


def main() -> int:
    """Measure, print the rows and write the document. Return the exit code."""
    arguments = _arguments()
    console = Console(highlight=False)
    directory: Path = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)
    plan = Plan(attack=arguments.seconds, rate=arguments.rate)
    # On SIGTERM the program still ends its broker and its attackers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    wanted = {CONTROL.__name__, *arguments.attack} if arguments.attack else set(BY_NAME)
    chosen = [attack for attack in ATTACKS if attack.__name__ in wanted]
    machine = machine_of(directory)
    come_first(console.print)
    try:
        build = _build_of(arguments.code, directory)
        rows = _measured(chosen, arguments, plan, console)
    except (BenchmarkFailed, OSError, TimeoutError, AssertionError) as error:
        console.print(f"make hostile: {error}", style="red", markup=False)
        return 2
    results = {
        "machine": machine,
        "build": build,
        "plan": asdict(plan) | {"rounds": arguments.rounds},
        "rows": rows,
    }
    (directory / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    if not arguments.attack:
        _write(arguments.document, results)
    console.print(table_of(rows))
    noise = noise_of(rows[0])
    if noise is not None:
        console.print(f"make hostile: {noise}", style="red", markup=False)
        return 2
    return 1 if any(failures_of_row(row) for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make hostile")
    parser.add_argument("attack", nargs="*", metavar="ATTACK", help=", ".join(BY_NAME))
    parser.add_argument(
        "--code",
        type=Path,
        default=COMPILED if COMPILED.exists() else ROOT,
        help="directory that contains `gateway`; `.` is the source, not compiled",
    )
    parser.add_argument(
        "--rounds", type=_count, default=ROUNDS, help="most measurements of a row that fails"
    )
    parser.add_argument(
        "--again-minutes",
        type=float,
        default=AGAIN_MINUTES,
        help="most minutes for all repeated measurements together",
    )
    parser.add_argument("--seconds", type=float, default=Plan.attack, help="seconds per attack")
    parser.add_argument("--rate", type=float, default=Plan.rate, help="messages/s per publisher")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "hostile")
    parser.add_argument("--document", type=Path, default=LIMITS_PAGE)
    arguments = parser.parse_args()
    unknown = set(arguments.attack) - set(BY_NAME)
    if unknown:
        parser.error(f"unknown attack: {', '.join(sorted(unknown))}")
    arguments.code = arguments.code.resolve()
    return arguments


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _build_of(code: Path, directory: Path) -> str:
    with besieged(code, directory / "start") as broker:
        status: dict[str, Any] = broker.ask("status")
    return f"Oncegate {status['version']}, {'compiled' if status['compiled'] else 'plain Python'}"


class _Siege:
    """All rows, measured one after the other. Calm latencies are learned from all of them."""

    def __init__(self, arguments: argparse.Namespace, plan: Plan) -> None:
        self._code: Path = arguments.code
        self._directory: Path = arguments.directory
        self._rounds_most: int = arguments.rounds
        self._again_seconds: float = 60 * arguments.again_minutes
        self._plan = plan
        self._rounds: list[list[Row]] = []

    def rows(self) -> list[Row]:
        """Return every row, judged by the calm latencies known so far."""
        floor = floor_of([row for rounds in self._rounds for row in rounds])
        return [merged_of(rounds, floor) for rounds in self._rounds]

    def measure(self, attack: type[Attack]) -> Row:
        """Measure a row, and repeat it if it exceeds its limits."""
        rounds: list[Row] = []
        self._rounds.append(rounds)
        while len(rounds) < self._rounds_most:
            began = time.monotonic()
            rounds.append(uvloop.run(besiege(attack, self._code, self._directory, self._plan)))
            row = self.rows()[-1]
            if len(rounds) == 1 and not failures_of_row(row):
                break
            if len(rounds) > 1:
                self._again_seconds -= time.monotonic() - began
            # An even number of rounds has no median of its own.
            elif self._again_seconds <= 0:
                break
        return row


def _measured(
    chosen: list[type[Attack]], arguments: argparse.Namespace, plan: Plan, console: Console
) -> list[Row]:
    siege = _Siege(arguments, plan)
    with Progress(
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()),
        console=console,
        refresh_per_second=REFRESHES_A_SECOND,
        transient=True,
    ) as progress:
        task = progress.add_task("", total=len(chosen))
        for attack in chosen:
            progress.update(task, description=attack.name)
            cells = cells_of(siege.measure(attack))
            progress.advance(task)
            progress.console.print(
                f"{cells[0]}: {cells[3]} times calm, {cells[5]} MiB, within limits: {cells[-1]}",
                style="dim",
                markup=False,
                soft_wrap=True,
            )
    return siege.rows()


def _write(document: Path, results: dict[str, Any]) -> None:
    text = document.read_text() if document.exists() else "# Limits\n"
    document.write_text(with_part(text, part_of(results)))


if __name__ == "__main__":
    sys.exit(main())
