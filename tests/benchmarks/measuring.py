"""Runs `oncegate bench` as a process of its own, on its own core, against one broker."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.brokers import Running, generator_cores

DEADLINE_SECONDS: Final = 300.0

NICE_OF_LOAD: Final = 10
"""Where both generators share a core, the one that is timed goes first."""

LONGER_SECONDS: Final = 4.0
"""How much longer the load lasts than what it is to disturb: its start and its end."""

Measured = dict[str, Any]


class BenchmarkFailed(Exception):
    """A run that measured nothing; the message has what the load generator said."""


def measure(broker: Running, options: tuple[str, ...], seconds: float) -> Measured:
    """One run, as the load generator's JSON tells it, with commits counted over all of it."""
    before = broker.journal()
    with _generator(broker, options, seconds) as process:
        return _with_commits(_result_of(process), before, broker.journal())


def measure_beside(
    broker: Running,
    options: tuple[str, ...],
    load_options: tuple[str, ...],
    seconds: float,
) -> tuple[Measured, Measured]:
    """One run while another loads the broker before, during and after it."""
    before = broker.journal()
    with _generator(broker, load_options, seconds + LONGER_SECONDS, nice=NICE_OF_LOAD) as load:
        result = measure(broker, options, seconds)
        return result, _with_commits(_result_of(load), before, broker.journal())


def _with_commits(result: Measured, before: Measured, after: Measured) -> Measured:
    """Adds how many messages, of the whole run, a commit carried. Only Oncegate has commits."""
    if after:
        total = result["total"]
        commits = after["batches"] - before["batches"]
        result["commits"] = {
            "count": commits,
            "messages_each": round((total["received"] or total["sent"]) / max(commits, 1), 1),
            "ms_mean": after["commit_ms_mean"],
        }
    return result


@contextmanager
def _generator(
    broker: Running, options: tuple[str, ...], seconds: float, nice: int = 0
) -> Iterator[subprocess.Popen[str]]:
    command = [str(Path(sys.executable).with_name("oncegate")), "bench", "--json", "-"]
    command += ["--host", "127.0.0.1", "--port", str(broker.port)]
    command += ["--broker-pid", str(broker.process_id), "--duration", str(seconds), *options]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        os.sched_setaffinity(process.pid, generator_cores())
        os.setpriority(os.PRIO_PROCESS, process.pid, nice)
        yield process
    finally:
        process.kill()
        process.wait()


def _result_of(process: subprocess.Popen[str]) -> Measured:
    """Raises BenchmarkFailed where it said nothing, or where a message went wrong."""
    out, error = process.communicate(timeout=DEADLINE_SECONDS)
    if not out:
        raise BenchmarkFailed(f"oncegate bench ended with {process.returncode}: {error.strip()}")
    result: Measured = json.loads(out)
    if any(result["faults"].values()):
        raise BenchmarkFailed(f"messages went wrong, so nothing was measured: {result['faults']}")
    return result
