"""The two brokers of the benchmark, each pinned to one core and restarted for every run."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.instruments.benchmarks.secured import Certificates
from tests.system.broker_process import BrokerProcess, free_port

MOSQUITTO: Final = "/usr/sbin/mosquitto"
DEADLINE_SECONDS: Final = 60.0

WINDOW: Final = 100
"""The number of messages in flight that the broker must allow in both directions."""

LOG_CHARACTERS: Final = 2_000

MOSQUITTO_SETTINGS: Final = f"""\
allow_anonymous true
persistence false
max_inflight_messages {WINDOW}
"""

ONCEGATE_SETTINGS: Final = f"""\
[mqtt]
max_inflight = {WINDOW}
max_awaiting_rel = {WINDOW}
"""

NO_BRIDGE: Final = '[bridge]\nbroker = "127.0.0.1:1883"\n'
"""The bridge does not run, but its default address would need a listener without TLS."""

COMPILED: Final = Path(__file__).resolve().parents[3] / "build" / "compiled"
"""The folder into which `make bench` builds the compiled package."""


class BenchmarkFailed(Exception):
    """A run without a measurement. The message has the output of the processes."""


@dataclass(frozen=True)
class Running:
    """A broker that accepts connections.

    `process` is set for Oncegate, whose commits are counted.
    """

    name: str
    port: int
    process_id: int
    process: BrokerProcess | None = field(default=None, repr=False)
    ca: Path | None = None
    """The certificate of the authority, or None if the broker listens without TLS."""

    def journal(self) -> dict[str, Any]:
        """Return the journal's status from the control socket, or an empty dictionary for
        Mosquitto.

        Raises BenchmarkFailed if the broker has exited.
        """
        if self.process is None:
            return {}
        try:
            journal: dict[str, Any] = self.process.ask("status")["journal"]
        except OSError as error:
            raise BenchmarkFailed(f"the broker is gone: {self.last_words()}") from error
        return journal

    def last_words(self) -> str:
        """Return the end of Oncegate's log, for a run that failed."""
        return "" if self.process is None else self.process.standard_error()[-LOG_CHARACTERS:]

    def version(self) -> str:
        """Return the version of Oncegate, and whether its core is compiled."""
        assert self.process is not None
        status = self.process.ask("status")
        return f"{status['version']}, {'compiled' if status['compiled'] else 'plain Python'}"


class CompiledBroker(BrokerProcess):
    """The broker as in its wheel, from this checkout's build or that of another checkout."""

    build: Path = COMPILED

    def spawn(self, environment: Mapping[str, str] | None = None) -> None:
        own = {"PYTHONPATH": str(self.build), "ONCEGATE_COMPILE": "0"}
        super().spawn({**(environment or {}), **own})


@contextmanager
def mosquitto(
    directory: Path, queue_messages: int | None = None, tls: Certificates | None = None
) -> Iterator[Running]:
    """Run Debian's Mosquitto in memory, with its defaults and WINDOW messages in flight.

    A queue holds `queue_messages` messages, or any number if None. Raises FileNotFoundError if
    Mosquitto is not installed, and TimeoutError if it does not start.
    """
    port = free_port()
    configuration = directory / "mosquitto.conf"
    configuration.write_text(
        f"listener {port} 127.0.0.1\n{MOSQUITTO_SETTINGS}"
        f"{tls.mosquitto_settings if tls else ''}"
        f"max_queued_messages {queue_messages or 0}\n"
    )
    with (directory / "mosquitto.log").open("ab") as log:
        process = subprocess.Popen([MOSQUITTO, "-c", configuration], stdout=log, stderr=log)
    try:
        _wait_for_port(port, process)
        yield Running("Mosquitto", port, process.pid, ca=tls.ca if tls else None)
    finally:
        process.terminate()
        process.wait(DEADLINE_SECONDS)


@contextmanager
def oncegate(
    directory: Path,
    queue_messages: int | None = None,
    tls: Certificates | None = None,
    *,
    build: Path = COMPILED,
    settings: str = "",
) -> Iterator[Running]:
    """Run Oncegate with all its data on the disk of `directory`."""
    data_directory = directory / "data"
    queue = "" if queue_messages is None else f"max_mqueue_len = {queue_messages}\n"
    if tls is not None:
        settings += NO_BRIDGE
    broker = CompiledBroker(
        f"{ONCEGATE_SETTINGS}{queue}{settings}",
        listener_settings=tls.listener_settings if tls else "",
        data_directory=data_directory,
    )
    broker.build = build
    try:
        broker.start()
        ca = tls.ca if tls else None
        yield Running("Oncegate", broker.port, broker.process_id, broker, ca)
        broker.stop()
    finally:
        broker.remove()
        shutil.rmtree(data_directory, ignore_errors=True)


BROKERS: Final = {"Mosquitto": mosquitto, "Oncegate": oncegate}


def pin(process_id: int, core: int) -> None:
    """Pin all threads of a process to one core, so that both brokers are measured on one core."""
    for task in Path(f"/proc/{process_id}/task").iterdir():
        os.sched_setaffinity(int(task.name), {core})


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise TimeoutError(f"{process.args!r} does not listen on port {port}: see its log")
