"""The real broker with a ticker in its loop, as a process of its own.

The parent writes one word a line on standard input: `mark` is answered with one line of JSON, the
figures since the last mark. The end of the input ends the broker.

A gap between two ticks is measured twice: by the clock, and by the processor time that the loop's
thread used within it. On a machine that others use too only the second is the broker's own.
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
    """Notices when the loop does not come round."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a new stretch."""
        self.gap_seconds = 0.0
        self.busy_seconds = 0.0

    async def run(self) -> None:
        """Tick without end."""
        while True:
            at, busy = time.monotonic(), time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            self.gap_seconds = max(self.gap_seconds, time.monotonic() - at - TICK_SECONDS)
            self.busy_seconds = max(self.busy_seconds, time.thread_time() - busy)


def memory_of() -> dict[str, int]:
    """Resident memory now and at its highest, in bytes."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return {
        "resident_bytes": int(fields["VmRSS"].split()[0]) * 1024,
        "resident_bytes_max": int(fields["VmHWM"].split()[0]) * 1024,
    }


def totals_of(running: RunningBroker) -> dict[str, float]:
    """What only grows."""
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
    """Serve until standard input ends."""
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
    """Tell the parent."""
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run as the broker does: on uvloop where it is."""
    overrides = json.loads(sys.argv[2])
    run = asyncio.run if uvloop is None else uvloop.run
    run(watch(Path(sys.argv[1]), overrides))


if __name__ == "__main__":
    main()
