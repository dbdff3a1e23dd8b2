"""Two ways from serial lines to a broker: `oncegate bridge`, and ser2net with mosquitto_pub."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bridge.firmware.bridge_process import BridgeProcess
from tests.instruments.benchmarks.brokers import BenchmarkFailed
from tests.instruments.benchmarks.serial.lines import Device
from tests.system.broker_process import free_port

SER2NET = "/usr/sbin/ser2net"
DEADLINE_SECONDS = 60.0
CHECK_SECONDS = 0.05


@dataclass(frozen=True)
class Terminal:
    """A pseudo-terminal: the device that sends, and the path that the program opens."""

    device: Device
    path: str


Way = Callable[[Path, Sequence[Terminal], int], "contextlib.AbstractContextManager[list[int]]"]
"""From a directory, terminals and a broker's port: yields the processes that carry the lines."""


@contextlib.contextmanager
def bridge(directory: Path, terminals: Sequence[Terminal], port: int) -> Iterator[list[int]]:
    """Run `oncegate bridge` with its default settings: QoS 2 and an outbox."""
    tables = "".join(
        f'[[serial]]\nname = "p{number}"\npath = "{each.path}"\nframing = "json"\n'
        f"baud_rate = {each.device.baud_rate}\n"
        for number, each in enumerate(terminals)
    )
    process = BridgeProcess(directory, port, tables)
    with running(process):
        yield [process.process_id]


@contextlib.contextmanager
def running(process: BridgeProcess) -> Iterator[None]:
    """Run a bridge.

    Raises:
        BenchmarkFailed: it has ended by itself.
    """
    process.start()
    try:
        yield
    finally:
        if not process.is_running:
            raise BenchmarkFailed(f"the bridge has ended: {process.log()[-2000:]}")
        process.kill()


@contextlib.contextmanager
def ser2net(directory: Path, terminals: Sequence[Terminal], port: int) -> Iterator[list[int]]:
    """Run Debian's ser2net, and for each line a `mosquitto_pub -l -q 2` that reads its TCP port."""
    numbers = [free_port() for _ in terminals]
    configuration = directory / "ser2net.yaml"
    configuration.write_text(
        "".join(
            f"connection: &p{at}\n  accepter: tcp,127.0.0.1,{number}\n"
            f"  connector: serialdev(nouucplock),{each.path},{each.device.baud_rate}n81,local\n"
            for at, (number, each) in enumerate(zip(numbers, terminals, strict=True))
        )
    )
    with (directory / "ser2net.log").open("wb") as log:
        command = [SER2NET, "-n", "-c", str(configuration)]
        server = subprocess.Popen(command, stdout=log, stderr=log)
    publishers: list[subprocess.Popen[bytes]] = []
    try:
        for at, number in enumerate(numbers):
            script = (
                f"while ! exec 3</dev/tcp/127.0.0.1/{number}; do sleep 0.05; done 2>/dev/null; "
                f"exec mosquitto_pub -p {port} -q 2 -t serial/p{at} -l <&3"
            )
            publishers.append(subprocess.Popen(["bash", "-c", script]))
        yield [server.pid, *(each.pid for each in publishers)]
    finally:
        for process in (*publishers, server):
            process.kill()
            process.wait()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds. Raises BenchmarkFailed after a minute."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise BenchmarkFailed(f"{what} after {DEADLINE_SECONDS:.0f} s")
        time.sleep(CHECK_SECONDS)


def processor_seconds_of(process_ids: Sequence[int]) -> float:
    """Return the processor seconds that these processes have used so far."""
    ticks = 0
    for process_id in process_ids:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
