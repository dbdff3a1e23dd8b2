"""One run: devices, programs that carry their lines to a broker, a subscriber, and the result."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import tty
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.instruments.benchmarks.brokers import Running
from tests.instruments.benchmarks.serial.lines import (
    WARM_UP,
    Device,
    line_of,
    named_in,
    verdict_of,
)
from tests.instruments.benchmarks.serial.ways import (
    Terminal,
    Way,
    processor_seconds_of,
    wait_until,
)

Broker = Callable[[Path], "contextlib.AbstractContextManager[Running]"]
QUIET_LOOKS = 20
"""Checks without an arrival, over one second, after which missing lines count as lost."""


@contextlib.contextmanager
def plugged_in(count: int) -> Iterator[tuple[list[int], list[str]]]:
    """Yield the devices' ends of pseudo-terminals, and the paths of the programs' ends."""
    pairs = [os.openpty() for _ in range(count)]
    try:
        for master, slave in pairs:
            tty.setraw(slave)
            os.set_blocking(master, False)
        yield [master for master, _ in pairs], [os.ttyname(slave) for _, slave in pairs]
    finally:
        for pair in pairs:
            for descriptor in pair:
                os.close(descriptor)


@contextlib.contextmanager
def subscribed(port: int, file: Path) -> Iterator[None]:
    """Run mosquitto_sub, which writes each message's time (ns since 1970) and payload to a file."""
    command = ["mosquitto_sub", "-p", str(port), "-q", "0", "-t", "sensors/#", "-t", "serial/#"]
    with file.open("wb") as output:
        # stdbuf flushes after each line, so that a line is not delayed in a buffer.
        process = subprocess.Popen(["stdbuf", "-oL", *command, "-F", "%U %p"], stdout=output)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def arrivals_in(file: Path) -> list[tuple[int, bytes]]:
    """Return the time in ns and the payload of each arrival."""
    found = []
    for line in file.read_bytes().split(b"\n")[:-1]:
        when, _, payload = line.partition(b" ")
        if payload:  # mosquitto_pub ends with an empty line, and the last raw line is incomplete
            seconds, _, fraction = when.partition(b".")
            found.append((int(seconds) * 10**9 + int(fraction.ljust(9, b"0")), payload))
    return found


def measure(broker: Broker, way: Way, devices: Sequence[Device], seconds: float) -> dict[str, Any]:
    """Send for some seconds, and wait until nothing more arrives.

    Raises:
        BenchmarkFailed: a program did not start, or has exited.
    """
    with contextlib.ExitStack() as stack:
        directory = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="oncegate-serial-"))
        )
        running = stack.enter_context(broker(directory))
        masters, paths = stack.enter_context(plugged_in(len(devices)))
        terminals = list(map(Terminal, devices, paths))
        arrived = directory / "arrived"
        stack.enter_context(subscribed(running.port, arrived))
        carriers = stack.enter_context(way(directory, terminals, running.port))
        wait_until(lambda: _is_warm(masters, devices, arrived), "not each line has arrived")
        before = [processor_seconds_of(each) for each in (carriers, [running.process_id])]
        result = _send(directory, masters, devices, seconds)
        wait_until_quiet(arrived)
        verdict = verdict_of(dict(enumerate(result["sent_ns"])), arrivals_in(arrived), named_in)
        after = [processor_seconds_of(each) for each in (carriers, [running.process_id])]
        carrier, of_broker = (end - begin for begin, end in zip(before, after, strict=True))
        version = running.version() if running.process is not None else None
    return {
        "version": version,
        "sent": verdict.sent,
        "lost": verdict.lost,
        "doubled": verdict.doubled,
        "waited_bytes_max": max(result["waited_bytes_max"]),
        "longest_tick_ms": result["longest_tick_ms"],
        "p50_ms": verdict.percentile(0.5),
        "p99_ms": verdict.percentile(0.99),
        "carrier_cores": carrier / seconds,
        "broker_cores": of_broker / seconds,
        "seconds": seconds,
    }


def _is_warm(masters: Sequence[int], devices: Sequence[Device], arrived: Path) -> bool:
    for number, (master, device) in enumerate(zip(masters, devices, strict=True)):
        with contextlib.suppress(BlockingIOError):
            os.write(master, line_of(number, WARM_UP, device.line_bytes))
    text = arrived.read_bytes()
    return all(b"%d.%s.x" % (number, WARM_UP.encode()) in text for number in range(len(devices)))


def _send(
    directory: Path, masters: Sequence[int], devices: Sequence[Device], seconds: float
) -> dict[str, Any]:
    plan = directory / "plan.json"
    result = directory / "sent.json"
    lines = [
        {"descriptor": master, "baud_rate": each.baud_rate, "line_bytes": each.line_bytes}
        for master, each in zip(masters, devices, strict=True)
    ]
    plan.write_text(json.dumps({"devices": lines, "seconds": seconds, "result": str(result)}))
    command = [sys.executable, "-m", "tests.instruments.benchmarks.serial.line_writer", str(plan)]
    subprocess.run(command, check=True, pass_fds=masters)
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def wait_until_quiet(arrived: Path) -> None:
    """Wait until nothing more arrives."""
    size, looks = -1, 0

    def is_quiet() -> bool:
        nonlocal size, looks
        before, size = size, arrived.stat().st_size
        looks = looks + 1 if size == before else 0
        return looks >= QUIET_LOOKS

    wait_until(is_quiet, "messages go on arriving")
