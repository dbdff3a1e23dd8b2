"""The real broker with a ticker in its event loop, in a separate process.

The parent writes one command per line on standard input. `mark` is answered with one line of JSON:
the figures since the last mark. The broker stops at the end of the input.

A gap between two ticks is measured twice: by the clock, and by the processor time that the loop's
thread used in it. On a machine with other programs, only the second measures the broker.
"""

import asyncio
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from gateway.broker.server.host.compiled import COMPILED
from gateway.broker.server.main import RunningBroker
from gateway.configuration import load

try:
    import uvloop
except ImportError:
    uvloop = None  # type: ignore[assignment]

TICK_SECONDS = 0.001


class Ticker:
    """Measures how long the event loop is busy without a new turn."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a new measurement."""
        self.gap_seconds = 0.0
        self.busy_seconds = 0.0

    async def run(self) -> None:
        """Tick forever."""
        while True:
            at, busy = time.monotonic(), time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            self.gap_seconds = max(self.gap_seconds, time.monotonic() - at - TICK_SECONDS)
            self.busy_seconds = max(self.busy_seconds, time.thread_time() - busy)


def memory_of() -> dict[str, int]:
    """Return the resident memory in bytes: now, and the most so far."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return {
        "resident_bytes": int(fields["VmRSS"].split()[0]) * 1024,
        "resident_bytes_max": int(fields["VmHWM"].split()[0]) * 1024,
    }


def totals_of(running: RunningBroker) -> dict[str, float]:
    """Return the counters that only grow."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    metrics = running.event_loop.committer.metrics
    return {
        "written_bytes": int(fields["write_bytes"]),
        "passed_bytes": int(fields["wchar"]),
        "batches": metrics.batches,
        "blob_bytes": metrics.blob_bytes,
        "processor_seconds": time.process_time(),
        "seconds": time.monotonic(),
    }


async def watch(data_dir: Path, overrides: dict[str, Any]) -> None:
    """Run the broker until standard input ends."""
    began = time.monotonic()
    overrides |= {"gateway.data_dir": data_dir, "listeners": [{"port": 0}]}
    stop = asyncio.Event()
    running = await RunningBroker.start(load(None, {}, overrides, None), None)
    ticker = Ticker()
    ticking = asyncio.create_task(ticker.run())
    serving = asyncio.create_task(running.until(stop))
    before = totals_of(running)
    port = running.listening.shown[0]["port"]
    say(
        port=port,
        compiled=COMPILED,
        start_seconds=time.monotonic() - began,
        start_processor_seconds=time.process_time(),
        **memory_of(),
    )
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    while line := await lines.readline():
        if line == b"collect\n":
            gc.collect()
        totals = totals_of(running)
        say(
            gap_seconds=ticker.gap_seconds,
            busy_seconds=ticker.busy_seconds,
            journal_bytes=running.event_loop.store.journal_total_bytes,
            uncommitted_bytes=running.event_loop.broker.batch.pending_bytes(),
            **memory_of(),
            **{key: value - before[key] for key, value in totals.items()},
        )
        before = totals_of(running)
        ticker.reset()
    ticking.cancel()
    stop.set()
    await serving
    await running.stop()


def say(**figures: Any) -> None:
    """Write figures to the parent as a line of JSON."""
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run as the broker does: with uvloop if it is installed."""
    overrides = json.loads(sys.argv[2])
    run = asyncio.run if uvloop is None else uvloop.run
    run(watch(Path(sys.argv[1]), overrides))


if __name__ == "__main__":
    main()
