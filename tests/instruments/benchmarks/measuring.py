"""Runs of `oncegate bench` in a separate process, on its own core, against one broker."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.instruments.benchmarks.brokers import BenchmarkFailed, Running, pin

DEADLINE_SECONDS: Final = 300.0

LONGER_SECONDS: Final = 4.0
"""How much longer the load runs than the measurement, to cover its start and its end."""

Measured = dict[str, Any]


class Meter:
    """Runs load generators. With `pinned`, brokers use one core and load generators another."""

    def __init__(self, *, pinned: bool) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.pinned = pinned and len(cores) > 1
        self._broker_core, self._generator_core = cores[0], cores[-1]

    @contextmanager
    def on_broker_core(self) -> Iterator[None]:
        """Run this process on the brokers' core, which may be nearer to the disk's interrupts."""
        before = os.sched_getaffinity(0)
        if self.pinned:
            os.sched_setaffinity(0, {self._broker_core})
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    def measure(
        self, broker: Running, options: tuple[str, ...], seconds: float, *, loses: bool = False
    ) -> Measured:
        """Run the load generator. Return its JSON result, with the commits during the run.

        With `loses`, lost messages are part of the measurement and not a failure.
        """
        commits = _Commits(broker)
        with self._generator(broker, options, seconds) as process:
            result = _result_of(process, broker, loses=loses)
        return commits.added_to(result)

    def measure_beside(
        self,
        broker: Running,
        options: tuple[str, ...],
        load_options: tuple[str, ...],
        seconds: float,
    ) -> tuple[Measured, Measured]:
        """Measure one load while another load runs before, during and after it."""
        commits = _Commits(broker)
        longer = seconds + LONGER_SECONDS
        with self._generator(broker, load_options, longer, gives_way=True) as load:
            result = self.measure(broker, options, seconds)
            return result, commits.added_to(_result_of(load, broker))

    @contextmanager
    def _generator(
        self,
        broker: Running,
        options: tuple[str, ...],
        seconds: float,
        *,
        gives_way: bool = False,
    ) -> Iterator[subprocess.Popen[str]]:
        command = [str(Path(sys.executable).with_name("oncegate")), "bench", "--json"]
        command += ["--host", "127.0.0.1", "--port", str(broker.port)]
        command += ["--broker-pid", str(broker.process_id), "--duration", str(seconds), *options]
        if broker.ca is not None:
            command += ["--cafile", str(broker.ca)]
        if self.pinned:
            pin(broker.process_id, self._broker_core)
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        try:
            if self.pinned:
                pin(process.pid, self._generator_core)
            if gives_way:
                # If both generators share a core, the measured one must preempt the other. Niceness
                # alone would let the other finish its time slice of some milliseconds.
                os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))
            yield process
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def rate_of(measured: Measured) -> float:
    """Return messages received per second, or acknowledged ones if there is no subscriber."""
    received = float(measured["per_second"]["received"])
    return received or float(measured["per_second"]["completed"])


class _Commits:
    """The broker's commits since this object was created."""

    def __init__(self, broker: Running) -> None:
        self._broker = broker
        self._count, self._commit_ms = self._reading()
        self._seconds = time.monotonic()

    def _reading(self) -> tuple[int, float]:
        """Return the count of commits and their total milliseconds. Both are zero for Mosquitto."""
        journal = self._broker.journal()
        count = int(journal.get("batches", 0))
        return count, count * float(journal.get("commit_ms_mean", 0))

    def added_to(self, result: Measured) -> Measured:
        """Add the number of commits, and of messages per commit, to `result`, and return it."""
        count, commit_ms = self._reading()
        count -= self._count
        commit_ms -= self._commit_ms
        total = result["total"]
        if count:
            result["commits"] = {
                "count": count,
                "messages_each": round((total["received"] or total["sent"]) / count, 2),
                "ms_mean": round(commit_ms / count, 3),
                "busy_share": round(commit_ms / 1000 / (time.monotonic() - self._seconds), 3),
            }
        return result


def _result_of(process: subprocess.Popen[str], broker: Running, *, loses: bool = False) -> Measured:
    """Return the generator's result.

    Raises BenchmarkFailed if it printed none, or if a message was lost, doubled or damaged.
    """
    out, error = process.communicate(timeout=DEADLINE_SECONDS)
    if not out:
        said = f"{error.strip()}\n{broker.last_words()}".strip()
        raise BenchmarkFailed(f"oncegate bench ended with {process.returncode}: {said}")
    result: Measured = json.loads(out)
    if any(count for fault, count in result["faults"].items() if not (loses and fault == "lost")):
        raise BenchmarkFailed(f"messages went wrong, so nothing was measured: {result['faults']}")
    return result
