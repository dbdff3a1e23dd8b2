"""The two brokers of the benchmark, each on one core of its own, fresh for every run."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.system.broker_process import BrokerProcess, free_port

MOSQUITTO: Final = "/usr/sbin/mosquitto"
DEADLINE_SECONDS: Final = 20.0

WINDOW: Final = 100
"""What the scenarios call window 100 has to be allowed by the broker, in both directions."""

MOSQUITTO_SETTINGS: Final = f"""\
allow_anonymous true
persistence false
max_queued_messages 0
max_inflight_messages {WINDOW}
"""

ONCEGATE_SETTINGS: Final = f"""\
[mqtt]
max_inflight = {WINDOW}
max_awaiting_rel = {WINDOW}
"""

BROKER_CORE: Final = 0
GENERATOR_CORE: Final = 1


@dataclass(frozen=True)
class Running:
    """A broker that listens. `process` is asked for commits where it knows them."""

    name: str
    port: int
    process_id: int
    process: BrokerProcess | None = field(default=None, repr=False)

    def journal(self) -> dict[str, Any]:
        """What the control socket says of the journal; empty for Mosquitto, which has none."""
        if self.process is None:
            return {}
        journal: dict[str, Any] = self.process.ask("status")["journal"]
        return journal

    def version(self) -> str:
        """Of Oncegate, and whether its core is compiled."""
        assert self.process is not None
        status = self.process.ask("status")
        return f"{status['version']}, {'compiled' if status['compiled'] else 'plain Python'}"


@contextmanager
def mosquitto(directory: Path) -> Iterator[Running]:
    """Debian's Mosquitto, in memory: its defaults but unlimited queues and the scenario's window.

    Raises FileNotFoundError where it is not installed, TimeoutError where it does not start.
    """
    port = free_port()
    configuration = directory / "mosquitto.conf"
    configuration.write_text(f"listener {port} 127.0.0.1\n{MOSQUITTO_SETTINGS}")
    with (directory / "mosquitto.log").open("ab") as log:
        process = subprocess.Popen([MOSQUITTO, "-c", configuration], stdout=log, stderr=log)
    try:
        _wait_for_port(port, process)
        _pin(process.pid)
        yield Running("Mosquitto", port, process.pid)
    finally:
        process.terminate()
        process.wait(DEADLINE_SECONDS)


@contextmanager
def oncegate(directory: Path) -> Iterator[Running]:
    """Our broker, everything on the disk on which `directory` is."""
    data_directory = directory / "data"
    broker = BrokerProcess(ONCEGATE_SETTINGS, data_directory=data_directory)
    try:
        broker.start()
        _pin(broker.process_id)
        yield Running("Oncegate", broker.port, broker.process_id, broker)
        broker.stop()
    finally:
        broker.remove()
        shutil.rmtree(data_directory, ignore_errors=True)


BROKERS: Final = {"Mosquitto": mosquitto, "Oncegate": oncegate}


def cores() -> int:
    """How many cores we may use."""
    return len(os.sched_getaffinity(0))


def generator_cores() -> set[int]:
    """Where the load generators run: beside the broker's core, if there is one."""
    return {GENERATOR_CORE} if cores() > 1 else {BROKER_CORE}


def _pin(process_id: int) -> None:
    """Every thread of the broker to one core: nobody is measured with more than the other."""
    for task in Path(f"/proc/{process_id}/task").iterdir():
        os.sched_setaffinity(int(task.name), {BROKER_CORE})


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise TimeoutError(f"{process.args!r} does not listen on port {port}: see its log")
