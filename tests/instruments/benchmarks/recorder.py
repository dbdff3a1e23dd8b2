"""The cost of the page's history for the broker: its throughput with the page, and without.

    python -m tests.instruments.benchmarks.recorder [--rounds N] [--seconds S] [--build FOLDER]

The page's recorder requests the broker's status and the reports every 5 seconds, and stores a point
of each series. In both ways a bridge reports SERIES quantities each second, as it does without a
page. The two ways are measured alternately. The broker's processor time for a message decides,
because other programs on the machine hardly change it.
"""

import argparse
import copy
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from tests.api import recorded
from tests.instruments.benchmarks.brokers import COMPILED, Running, oncegate
from tests.instruments.benchmarks.contests import RECORDED, Contest
from tests.instruments.benchmarks.measuring import Measured, Meter, rate_of
from tests.system.broker_process import free_port, oncegate_command

SERIES: Final = 200
"""Quantities in the bridge's report, in 25 devices: more would make it longer than 64 KiB."""
DEVICE_QUANTITIES: Final = 8
REPORT_SECONDS: Final = 1.0
START_SECONDS_MAX: Final = 60.0
SECONDS_LEAST: Final = 20.0
"""Each measurement has four queries of the recorder."""

WAYS: Final = ("without", "with")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=SECONDS_LEAST)
    parser.add_argument("--build", type=Path, default=COMPILED)
    parser.add_argument("--directory", type=Path, default=Path("build/recorder"))
    arguments = parser.parse_args()
    directory = arguments.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    recorder = RecorderCost(directory, Meter(pinned=True), arguments.rounds, arguments.seconds)
    recorder.build = arguments.build
    for line in lines_of([recorder.measure(contest, print) for contest in RECORDED]):
        print(line)


class RecorderCost:
    """Measures contests alternately with and without the page that records the history."""

    build: Path = COMPILED

    def __init__(self, directory: Path, meter: Meter, rounds: int, seconds: float) -> None:
        self._directory = directory
        self._meter = meter
        self._rounds = rounds
        self._seconds = max(seconds, SECONDS_LEAST)

    def measure(self, contest: Contest, say: Any) -> dict[str, Any]:
        """Return the rates and the processor times of both ways, and their ratios."""
        runs: dict[str, list[Measured]] = {way: [] for way in WAYS}
        for turn in range(self._rounds):
            for way in WAYS[:: -1 if turn % 2 else 1]:
                runs[way].append(self._run(contest, records=way == "with"))
                figures = f"{rate_of(runs[way][-1]):,.0f} messages/s, {_cost(runs[way][-1]):.4f}"
                say(f"{contest.name}: {way} the history {figures} CPU s per million")
        pairs = list(zip(runs["with"], runs["without"], strict=True))
        return {
            "name": contest.name,
            "least": contest.least_ratio,
            "ratio": round(median(rate_of(a) / rate_of(b) for a, b in pairs), 3),
            "cpu_ratio": round(median(_cost(b) / _cost(a) for a, b in pairs), 3),
            "rates": {way: median(map(rate_of, found)) for way, found in runs.items()},
            "costs": {way: median(map(_cost, found)) for way, found in runs.items()},
        }

    def _run(self, contest: Contest, *, records: bool) -> Measured:
        page_port = free_port()
        settings = f"[api]\nport = {page_port}\n"
        with (
            oncegate(self._directory, settings=settings, build=self.build) as broker,
            _reporting(broker),
            _page(broker, page_port if records else None),
        ):
            return self._meter.measure(broker, contest.options, self._seconds)


def lines_of(results: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the section of docs/benchmarks.md."""
    yield "## History"
    yield ""
    yield f"Oncegate with its page, which records {SERIES} series, against the broker without it."
    yield "In both a bridge reports each second. The ratio in CPU decides: it is that of the"
    yield "broker's processor time for a message, which other programs hardly change."
    yield ""
    yield "| scenario | without | with | ratio | ratio in CPU | wanted | reached |"
    yield "|---|---|---|---|---|---|---|"
    for entry in results:
        rates = entry["rates"]
        yield (
            f"| {entry['name']} | {rates['without']:,.0f} | {rates['with']:,.0f} "
            f"| {entry['ratio']:.2f} | {entry['cpu_ratio']:.3f} | at least {entry['least']:g} "
            f"| {'yes' if is_reached(entry) else '**no**'} |"
        )


def is_reached(entry: dict[str, Any]) -> bool:
    """Return True if the history costs the broker no more than it may."""
    return bool(entry["cpu_ratio"] >= entry["least"])


@contextmanager
def _reporting(broker: Running) -> Iterator[None]:
    """Report to the broker each second, as the bridge does."""
    assert broker.process is not None
    ask, stop = broker.process.ask, threading.Event()

    def run() -> None:
        number = 0
        while not stop.is_set():
            ask("report", source="bridge", status=report_of(number))
            number += 1
            stop.wait(REPORT_SECONDS)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def report_of(number: int) -> dict[str, Any]:
    """Return a bridge's report in which each quantity has a new value."""
    status = recorded.bridge_status()
    port = copy.deepcopy(status["ports"][0])
    device = port["devices"][0]
    now_ms = int(time.time() * 1000)
    port["devices"] = [
        {
            **device,
            "device": f"board-{of:04}",
            "last_ms": now_ms,
            "quantities": [
                {
                    "name": f"quantity_{at}",
                    "value": round(20 + at + number % 7 / 10, 2),
                    "unit": "Cel",
                    "time_ms": now_ms,
                }
                for at in range(DEVICE_QUANTITIES)
            ],
        }
        for of in range(SERIES // DEVICE_QUANTITIES)
    ]
    return {**status, "ports": [port]}


@contextmanager
def _page(broker: Running, port: int | None) -> Iterator[None]:
    """Run the page until the block ends. With None, no page runs."""
    if port is None:
        yield
        return
    assert broker.process is not None
    configuration = broker.process.directory / "gateway.toml"
    command = [*oncegate_command(), "api", "--config", str(configuration)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for_history(f"http://127.0.0.1:{port}/api/v1/history/series", process)
        yield
    finally:
        process.terminate()
        process.wait(START_SECONDS_MAX)


def _wait_for_history(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the page has recorded all series once."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if len(httpx.get(url, timeout=START_SECONDS_MAX).json()["series"]) >= SERIES:
                return
        except httpx.TransportError:
            pass  # it does not listen yet
        time.sleep(0.5)
    raise TimeoutError(f"the page has not recorded {SERIES} series: see oncegate api")


def _cost(measured: Measured) -> float:
    """Return the broker's CPU seconds per million messages."""
    return float(measured["broker"]["cpu_seconds_per_million"])


if __name__ == "__main__":
    main()
