"""One run of a protocol: devices on eight lines, `oncegate bridge`, a broker and a subscriber."""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bridge.firmware.bridge_process import BridgeProcess
from tests.instruments.benchmarks.serial.lines import verdict_of
from tests.instruments.benchmarks.serial.protocols import PROTOCOLS, Protocol
from tests.instruments.benchmarks.serial.run import (
    Broker,
    arrivals_in,
    plugged_in,
    subscribed,
    wait_until_quiet,
)
from tests.instruments.benchmarks.serial.ways import processor_seconds_of, running, wait_until

LINES = 8


def tables_of(protocol: Protocol, paths: Sequence[str]) -> str:
    """Return the `[[serial]]` tables of the devices `p0`, `p1`, ... at these paths."""
    return "".join(
        f'[[serial]]\nname = "p{number}"\npath = "{path}"\nline = "{protocol.line}"\n'
        f"{protocol.keys.format(name=f'p{number}')}\n"
        for number, path in enumerate(paths)
    )


def measure_protocol(broker: Broker, name: str, seconds: float) -> dict[str, Any]:
    """Run the devices of a protocol for some seconds, and wait until nothing more arrives.

    Raises:
        BenchmarkFailed: a program did not start, or has exited.
    """
    protocol = PROTOCOLS[name]
    with contextlib.ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="oncegate-serial-")
        directory = Path(stack.enter_context(temporary))
        of_broker = stack.enter_context(broker(directory))
        masters, paths = stack.enter_context(plugged_in(LINES))
        arrived = directory / "arrived"
        stack.enter_context(subscribed(of_broker.port, arrived))
        bridge = BridgeProcess(directory, of_broker.port, tables_of(protocol, paths))
        stack.enter_context(running(bridge))
        wait_until(lambda: bridge.log().count(": open") >= LINES, "not each port is open")
        processes = ([bridge.process_id], [of_broker.process_id])
        before = [processor_seconds_of(each) for each in processes]
        sent_ns = _work(directory, masters, name, seconds)
        wait_until(lambda: bridge.waiting() == 0, "readings are still in the outbox")
        wait_until_quiet(arrived)
        after = [processor_seconds_of(each) for each in processes]
        arrivals = arrivals_in(arrived)
    verdict = verdict_of(sent_ns, arrivals, protocol.named_in)
    carrier, broker_seconds = (end - begin for begin, end in zip(before, after, strict=True))
    return {
        "protocol": name,
        "sent": verdict.sent,
        "readings": len(arrivals),
        "lost": verdict.lost,
        "doubled": verdict.doubled,
        "p50_ms": verdict.percentile(0.5),
        "p99_ms": verdict.percentile(0.99),
        "carrier_cores": carrier / seconds,
        "broker_cores": broker_seconds / seconds,
    }


def _work(
    directory: Path, masters: Sequence[int], name: str, seconds: float
) -> dict[int, list[int]]:
    """Run the devices. Return the times at which each of them sent its numbers, in ns."""
    plan, result = directory / "plan.json", directory / "sent.json"
    settings = {"protocol": name, "descriptors": masters, "seconds": seconds, "result": str(result)}
    plan.write_text(json.dumps(settings))
    module = "tests.instruments.benchmarks.serial.device_writer"
    subprocess.run([sys.executable, "-m", module, str(plan)], check=True, pass_fds=masters)
    return dict(enumerate(json.loads(result.read_text())))
