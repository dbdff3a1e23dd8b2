"""`make bench`: Oncegate and Debian's Mosquitto, alternately, under the same loads.

    python -m tests.instruments.benchmarks.side_by_side [--rounds N] [--seconds S] [--unpinned]

Medians and ratios are written to the terminal, docs/benchmarks.md and results.json. The exit code
is 1 if a required ratio was not reached, and 2 if nothing could be measured.
"""

import argparse
import json
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console

from gateway.tools.bench.fsync_probe import fsync_percentiles_ms
from tests.instruments.benchmarks.brokers import BROKERS, BenchmarkFailed, Running, oncegate
from tests.instruments.benchmarks.contests import (
    BURSTS,
    CONTESTS,
    DISK_LOAD,
    DURABLE_LATENCY_MOST,
    FSYNCS_A_MESSAGE,
    MOSQUITTO_QUEUE,
    ONE_AT_A_TIME,
    PLAIN_CONTESTS,
    QUIET_CLIENT,
    RECORDED,
    RULED,
    SHARED_LATENCY_MOST,
    TLS_CONTESTS,
    WEAR,
    WEAR_RATES,
    WEAR_SECONDS_LEAST,
    Contest,
)
from tests.instruments.benchmarks.machine import machine_of
from tests.instruments.benchmarks.measuring import Measured, Meter, rate_of
from tests.instruments.benchmarks.recorder import RecorderCost, is_reached
from tests.instruments.benchmarks.report import document_of, table_of
from tests.instruments.benchmarks.secured import Certificates, access_in, certificates_in

ROOT: Final = Path(__file__).resolve().parents[3]
DOCUMENT: Final = ROOT / "docs" / "benchmarks.md"

ROUNDS: Final = 3
LATENCY_ROUNDS_LEAST: Final = 7
"""Rounds for latencies: with few rounds, a percentile only shows what else the machine did."""
SECONDS: Final = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement")
    parser.add_argument("--unpinned", action="store_true", help="let the kernel choose cores")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    arguments = parser.parse_args()
    console = Console(highlight=False)
    directory: Path = arguments.directory
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    # Mosquitto gives up root's rights before it reads its configuration again.
    directory.chmod(0o755)
    try:
        meter = Meter(pinned=not arguments.unpinned)
        benchmark = _Benchmark(directory, meter, arguments.rounds, arguments.seconds, console)
        results = benchmark.run()
    except (BenchmarkFailed, OSError) as error:
        console.print(f"make bench: {error}", style="red", markup=False)
        return 2
    (directory / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    arguments.document.write_text(document_of(results))
    console.print(table_of(results))
    console.print(f"written: {arguments.document}", markup=False, soft_wrap=True)
    console.print(f"         {directory / 'results.json'}", markup=False, soft_wrap=True)
    return 0 if results["reached"] else 1


class _Benchmark:
    def __init__(
        self, directory: Path, meter: Meter, rounds: int, seconds: float, console: Console
    ) -> None:
        self._directory = directory
        self._meter = meter
        self._rounds = rounds
        self._latency_rounds = max(rounds, LATENCY_ROUNDS_LEAST)
        self._seconds = seconds
        self._console = console

    def run(self) -> dict[str, Any]:
        machine = machine_of(self._directory)
        with oncegate(self._directory) as broker:
            machine["oncegate"] = broker.version()
        results: dict[str, Any] = {
            "machine": machine,
            "rounds": self._rounds,
            "seconds": self._seconds,
            "pinned": self._meter.pinned,
            "contests": [
                self._contest(contest) for contest in (*CONTESTS, *TLS_CONTESTS, *PLAIN_CONTESTS)
            ],
            "bursts": [self._burst(contest) for contest in BURSTS],
            "ruled": [self._ruled(contest) for contest in RULED],
            "recorded": [self._recorded(contest) for contest in RECORDED],
            "durable": self._durable_latency(),
            "shared": self._shared_latency(),
            "wear": [self._wear(rate) for rate in WEAR_RATES],
        }
        ratios = (*results["contests"], *results["ruled"])
        limits = [(entry["ratio"], entry["least"]) for entry in ratios]
        results["reached"] = (
            all(ratio >= least for ratio, least in limits)
            and all(entry["ratio"] >= entry["least"] for entry in results["bursts"])
            and all(is_reached(entry) for entry in results["recorded"])
            and results["durable"]["ratio"] <= DURABLE_LATENCY_MOST
            and results["shared"]["ratio"] <= SHARED_LATENCY_MOST
        )
        return results

    def _contest(self, contest: Contest) -> dict[str, Any]:
        runs: dict[str, list[Measured]] = {name: [] for name in BROKERS}
        tls = certificates_in(self._directory) if contest.tls else None
        for turn in range(self._rounds):
            # The first broker alternates, so that a drift of the machine affects both.
            for name in list(BROKERS)[:: -1 if turn % 2 else 1]:
                with self._broker_of(name, contest, tls) as broker:
                    measured = self._meter.measure(broker, contest.options, self._seconds)
                runs[name].append(measured)
                self._say(contest.name, turn, f"{name} {rate_of(measured):,.0f} messages/s")
        rates = {name: median(rate_of(run) for run in found) for name, found in runs.items()}
        costs = {name: median(_cost(run) for run in found) for name, found in runs.items()}
        return {
            "name": contest.name,
            "options": contest.options,
            "least": contest.least_ratio,
            "ratio": round(rates["Oncegate"] / rates["Mosquitto"], 2),
            "cpu_ratio": round(costs["Mosquitto"] / costs["Oncegate"], 2),
            "rates": rates,
            "runs": runs,
        }

    def _broker_of(
        self, name: str, contest: Contest, tls: Certificates | None
    ) -> AbstractContextManager[Running]:
        if contest.plain and name == "Oncegate":
            return oncegate(self._directory, contest.queue_messages, tls, build=ROOT)
        return BROKERS[name](self._directory, contest.queue_messages, tls)

    def _burst(self, contest: Contest) -> dict[str, Any]:
        """Measure which fraction each broker delivers with the default limits of its queues."""
        found: dict[str, dict[str, Any]] = {}
        for name, queue_messages in (("Mosquitto", MOSQUITTO_QUEUE), ("Oncegate", None)):
            with BROKERS[name](self._directory, queue_messages) as broker:
                run = self._meter.measure(broker, contest.options, self._seconds, loses=True)
            total = run["total"]
            found[name] = {
                "acknowledged": total["completed"],
                "delivered": total["received"],
                "seconds": run["seconds"],
                "memory_bytes": run["broker"]["rss_bytes_max"],
            }
            delivered = f"{total['received']:,} of {total['completed']:,} delivered"
            self._say(contest.name, 0, f"{name} {delivered}")
        ours = found["Oncegate"]
        return {
            "name": contest.name,
            "options": contest.options,
            "least": contest.least_ratio,
            "ratio": ours["delivered"] / ours["acknowledged"],
            "brokers": found,
        }

    def _ruled(self, contest: Contest) -> dict[str, Any]:
        """Measure Oncegate with 1,000 users and access rules, and without."""
        access = access_in(self._directory)
        rates: dict[str, list[float]] = {"without": [], "with": []}
        for turn in range(self._rounds):
            for way in list(rates)[:: -1 if turn % 2 else 1]:
                settings, options = (access.settings, access.options) if way == "with" else ("", ())
                with oncegate(self._directory, settings=settings) as broker:
                    measured = self._meter.measure(
                        broker, (*contest.options, *options), self._seconds
                    )
                rates[way].append(rate_of(measured))
                self._say(contest.name, turn, f"{way} rules {rate_of(measured):,.0f} messages/s")
        pairs = zip(rates["with"], rates["without"], strict=True)
        return {
            "name": contest.name,
            "least": contest.least_ratio,
            "ratio": round(median(ruled / free for ruled, free in pairs), 2),
            "rates": {way: median(found) for way, found in rates.items()},
        }

    def _recorded(self, contest: Contest) -> dict[str, Any]:
        """Measure Oncegate with the page that records the history, and without."""
        recorder = RecorderCost(self._directory, self._meter, self._rounds, self._seconds)
        return recorder.measure(contest, lambda line: self._say("history", 0, line))

    def _durable_latency(self) -> dict[str, Any]:
        """Compare QoS 2, window 1, with two fsyncs of the disk, measured before and after it."""
        ratios, runs, disks = [], [], []
        for turn in range(self._latency_rounds):
            with oncegate(self._directory) as broker:
                before = self._fsync_percentiles_ms()
                measured = self._meter.measure(broker, ONE_AT_A_TIME, self._seconds)
                after = self._fsync_percentiles_ms()
            fsync_ms = (before["p50"] + after["p50"]) / 2
            latency_ms = measured["acknowledgement_ms"]["p50"]
            ratios.append(latency_ms / (FSYNCS_A_MESSAGE * fsync_ms))
            runs.append(measured)
            disks.append({"before": before, "after": after})
            self._say("durable latency", turn, f"{latency_ms:.2f} ms, an fsync {fsync_ms:.2f} ms")
        return {
            "ratio": round(median(ratios), 2),
            "most": DURABLE_LATENCY_MOST,
            "latency_ms": median(run["acknowledgement_ms"]["p50"] for run in runs),
            "fsync_ms": median(
                (disk["before"]["p50"] + disk["after"]["p50"]) / 2 for disk in disks
            ),
            "runs": runs,
            "disks": disks,
        }

    def _fsync_percentiles_ms(self) -> dict[str, float]:
        with self._meter.on_broker_core():
            return fsync_percentiles_ms(self._directory)

    def _shared_latency(self) -> dict[str, Any]:
        """Measure QoS 0 alone, and while the disk is as busy as possible."""
        alone, beside, loads = [], [], []
        for turn in range(self._latency_rounds):
            with oncegate(self._directory) as broker:
                quiet = self._meter.measure(broker, QUIET_CLIENT, self._seconds)
                busy, load = self._meter.measure_beside(
                    broker, QUIET_CLIENT, DISK_LOAD, self._seconds
                )
            alone.append(quiet)
            beside.append(busy)
            loads.append(load)
            pair = [run["delivery_ms"]["p99"] for run in (quiet, busy)]
            self._say("QoS 0 p99", turn, f"{pair[0]:.2f} ms alone, {pair[1]:.2f} ms beside")
        p99 = [median(run["delivery_ms"]["p99"] for run in runs) for runs in (alone, beside)]
        return {
            "ratio": round(p99[1] / p99[0], 2),
            "most": SHARED_LATENCY_MOST,
            "alone_ms": p99[0],
            "beside_ms": p99[1],
            "load_per_second": median(rate_of(load) for load in loads),
            "alone": alone,
            "beside": beside,
            "loads": loads,
        }

    def _wear(self, rate: int) -> dict[str, Any]:
        """Measure the bytes written per durable message at a low rate."""
        with oncegate(self._directory) as broker:
            seconds = max(self._seconds, WEAR_SECONDS_LEAST)
            measured = self._meter.measure(broker, (*WEAR, "--rate", str(rate)), seconds)
        written = measured["broker"]["written_bytes_per_message"]
        self._say("wear", 0, f"{written:,.0f} bytes a message at {rate} messages/s")
        return {"rate": rate, "written_bytes": written, "run": measured}

    def _say(self, what: str, turn: int, figures: str) -> None:
        line = f"round {turn + 1}  {what}: {figures}"
        self._console.print(line, style="dim", markup=False, soft_wrap=True)


def _cost(measured: Measured) -> float:
    """Return the broker's CPU seconds per million messages, which other processes affect least."""
    return float(measured["broker"]["cpu_seconds_per_million"])


if __name__ == "__main__":
    sys.exit(main())
