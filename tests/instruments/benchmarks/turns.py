"""`make bench-turns BEFORE=DIR`: two builds of Oncegate, alternately, under the loads of `make
bench`.

    python -m tests.instruments.benchmarks.turns BUILD [--rounds N] [--pairs N] [--seconds S]
                                                       [--unpinned]

BUILD is the folder `build/compiled` of another checkout. In each round, both brokers are started,
and short measurements of the two alternate: this machine's speed changes within seconds, and two
processes of one build differ by 2 %. The figures are messages received per second, and their
ratio, this build's to the other's. The ratio of the broker's processor time per message is more
reliable if other programs run. The exit code is 1 if a ratio of messages is below `RATIO_LEAST`,
and 2 if nothing could be measured.
"""

import argparse
import shutil
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from tests.instruments.benchmarks.brokers import COMPILED, BenchmarkFailed, Running, oncegate
from tests.instruments.benchmarks.contests import (
    CONTESTS,
    ONE_AT_A_TIME,
    TLS_CONTESTS,
    Contest,
)
from tests.instruments.benchmarks.measuring import Meter, rate_of
from tests.instruments.benchmarks.secured import Certificates, certificates_in

ROOT: Final = Path(__file__).resolve().parents[3]
ROUNDS: Final = 4
PAIRS: Final = 5
SECONDS: Final = 1.0

RATIO_LEAST: Final = 0.97
"""A lower ratio means slower than before, by more than two runs of one build differ."""

Rates = dict[str, list[float]]
"""The figures of each measurement, by build. Those at one index were measured one after the
other."""

LOADS: Final = (
    *CONTESTS,
    *TLS_CONTESTS,
    Contest("QoS 2, 1 publisher, window 1, persistent", ONE_AT_A_TIME, 1),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-turns")
    parser.add_argument("before", type=Path, metavar="BUILD", help="the other checkout's build")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="starts of both brokers")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="measurements in a round")
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
            (load.name, *turns.measure(load, arguments.rounds, arguments.pairs, arguments.seconds))
            for load in LOADS
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

    def measure(
        self, load: Contest, rounds: int, pairs: int, seconds: float
    ) -> tuple[Rates, Rates]:
        """Return messages per second, and the broker's processor seconds per million messages."""
        rates: Rates = {build: [] for build in self._builds}
        costs: Rates = {build: [] for build in self._builds}
        tls = certificates_in(self._directory) if load.tls else None
        for number in range(1, rounds + 1):
            with ExitStack() as stack:
                # The first build alternates, so that a drift of the machine affects both.
                builds = list(self._builds)[:: 1 if number % 2 else -1]
                brokers = {
                    build: stack.enter_context(self._broker(load, tls, build)) for build in builds
                }
                for broker in brokers.values():
                    self._meter.measure(broker, load.options, seconds)  # warms up
                for pair in range(pairs):
                    for build in builds[:: -1 if pair % 2 else 1]:
                        measured = self._meter.measure(brokers[build], load.options, seconds)
                        rates[build].append(rate_of(measured))
                        costs[build].append(float(measured["broker"]["cpu_seconds_per_million"]))
            since = {build: found[-pairs:] for build, found in rates.items()}
            line = f"round {number}  {load.name}: {ratio_of(since):.2f}"
            self.console.print(line, style="dim", markup=False, soft_wrap=True)
        return rates, costs

    def _broker(
        self, load: Contest, tls: Certificates | None, build: str
    ) -> AbstractContextManager[Running]:
        directory = self._directory / build
        directory.mkdir(exist_ok=True)
        return oncegate(directory, load.queue_messages, tls, build=self._builds[build])


def ratio_of(rates: Rates) -> float:
    """Return the median of the pairs' ratios. Both runs of a pair had the same machine load."""
    return median(now / before for before, now in zip(rates["before"], rates["now"], strict=True))


def table_of(rows: list[tuple[str, Rates, Rates]]) -> Table:
    """Return a table of medians and ratios, in red if this build is slower."""
    table = Table(box=box.SIMPLE)
    table.add_column("load")
    for heading in ("before", "now", "ratio", "middle half", "ratio in CPU"):
        table.add_column(heading, justify="right")
    for name, rates, costs in rows:
        ratio = ratio_of(rates)
        pairs = zip(rates["before"], rates["now"], strict=True)
        ratios = [now / before for before, now in pairs]
        low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
        table.add_row(
            name,
            *(f"{median(rates[build]):,.0f}" for build in ("before", "now")),
            f"{ratio:.2f}",
            f"{low:.2f} {high:.2f}",
            f"{ratio_of(costs):.2f}",
            style="red" if ratio < RATIO_LEAST else None,
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
