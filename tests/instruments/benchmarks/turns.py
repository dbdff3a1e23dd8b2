"""`make bench-turns BEFORE=DIR`: two builds of Oncegate, alternately, under the loads of `make
bench`.

    python -m tests.instruments.benchmarks.turns BUILD [--rounds N] [--seconds S] [--unpinned]

BUILD is the folder `build/compiled` of another checkout. The figures are messages received per
second, and their ratio, this build's to the other's. The ratio of the broker's processor time per
message is more reliable if other programs run. The exit code is 1 if a ratio of messages is below
`RATIO_LEAST`, and 2 if nothing could be measured.
"""

import argparse
import shutil
import sys
from pathlib import Path
from statistics import median
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from tests.instruments.benchmarks.brokers import COMPILED, BenchmarkFailed, oncegate
from tests.instruments.benchmarks.contests import (
    CONTESTS,
    ONE_AT_A_TIME,
    TLS_CONTESTS,
    Contest,
)
from tests.instruments.benchmarks.measuring import Meter, rate_of
from tests.instruments.benchmarks.secured import certificates_in

ROOT: Final = Path(__file__).resolve().parents[3]
ROUNDS: Final = 5
SECONDS: Final = 3.0

RATIO_LEAST: Final = 0.95
"""A lower ratio means slower than before, by more than two runs of one build differ."""

Rates = dict[str, list[float]]
"""The figures of each round, by build."""

LOADS: Final = (
    *CONTESTS,
    *TLS_CONTESTS,
    Contest("QoS 2, 1 publisher, window 1, persistent", ONE_AT_A_TIME, 1),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-turns")
    parser.add_argument("before", type=Path, metavar="BUILD", help="the other checkout's build")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement")
    parser.add_argument("--unpinned", action="store_true", help="let the kernel choose cores")
    arguments = parser.parse_args()
    if not (arguments.before / "gateway").is_dir():
        parser.error(f"{arguments.before} is no build: run `make build/compiled/.ready` there")
    directory = ROOT / "build" / "bench-turns"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    builds = {"before": arguments.before.resolve(), "now": COMPILED}
    turns = _Turns(builds, directory, Meter(pinned=not arguments.unpinned))
    try:
        rows = [
            (load.name, *turns.measure(load, arguments.rounds, arguments.seconds)) for load in LOADS
        ]
    except (BenchmarkFailed, OSError) as error:
        turns.console.print(f"make bench-turns: {error}", style="red", markup=False)
        return 2
    turns.console.print(table_of(rows))
    return 0 if all(ratio_of(rates) >= RATIO_LEAST for _, rates, _ in rows) else 1


class _Turns:
    def __init__(self, builds: dict[str, Path], directory: Path, meter: Meter) -> None:
        self._builds = builds
        self._directory = directory
        self._meter = meter
        self.console = Console(highlight=False)

    def measure(self, load: Contest, rounds: int, seconds: float) -> tuple[Rates, Rates]:
        """Return messages per second, and the broker's processor seconds per million messages."""
        rates: Rates = {build: [] for build in self._builds}
        costs: Rates = {build: [] for build in self._builds}
        tls = certificates_in(self._directory) if load.tls else None
        for turn in range(rounds):
            # The first build alternates, so that a drift of the machine affects both.
            for build in list(self._builds)[:: -1 if turn % 2 else 1]:
                with oncegate(
                    self._directory, load.queue_messages, tls, build=self._builds[build]
                ) as broker:
                    measured = self._meter.measure(broker, load.options, seconds)
                rate = rate_of(measured)
                rates[build].append(rate)
                costs[build].append(float(measured["broker"]["cpu_seconds_per_million"]))
                line = f"round {turn + 1}  {load.name}: {build} {rate:,.0f} messages/s"
                self.console.print(line, style="dim", markup=False, soft_wrap=True)
        return rates, costs


def ratio_of(rates: Rates) -> float:
    """Return the median of the rounds' ratios. Both runs of a round had the same machine load."""
    return median(now / before for before, now in zip(rates["before"], rates["now"], strict=True))


def table_of(rows: list[tuple[str, Rates, Rates]]) -> Table:
    """Return a table of medians and ratios, in red if this build is slower."""
    table = Table(box=box.SIMPLE)
    table.add_column("load")
    for heading in ("before", "now", "ratio", "least and most", "ratio in CPU"):
        table.add_column(heading, justify="right")
    for name, rates, costs in rows:
        ratio = ratio_of(rates)
        pairs = zip(rates["before"], rates["now"], strict=True)
        ratios = sorted(now / before for before, now in pairs)
        table.add_row(
            name,
            *(f"{median(rates[build]):,.0f}" for build in ("before", "now")),
            f"{ratio:.2f}",
            f"{ratios[0]:.2f} {ratios[-1]:.2f}",
            f"{ratio_of(costs):.2f}",
            style="red" if ratio < RATIO_LEAST else None,
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
