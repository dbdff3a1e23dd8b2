"""The brokers under test: ours with its uploader, and Mosquitto for comparison.

A subject has its data on a disk whose power is cut while it runs. `die` has the effect of the cut
on its processes: SIGKILL without waiting, because a process that waits for a dark disk only ends
with the disk.
"""

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Protocol

from tests.instruments.powercut.machine import Powered
from tests.system.broker_process import BrokerProcess, free_port
from tests.system.session_log import Uploader

SMALL_RESERVE = '[disk]\nreserve = "64KiB"\n'
"""A small reserve: the cut happens at the n-th change, which should be the broker's normal work."""

START_DEADLINE_SECONDS = 60.0
STOP_DEADLINE_SECONDS = 60.0


class Subject(Powered, Protocol):
    """A broker under test."""

    port: int
    merges_overlapping_filters: bool
    """True if a message that matches two filters of a client arrives once, with the higher QoS."""

    def damage(self) -> str | None:
        """Return the damage that the running broker reported at its start, or None."""

    def log(self) -> str:
        """Return the broker's log of all starts."""

    def remove(self) -> None:
        """Kill all processes and remove their directories."""


class CutUploader(Uploader):
    """An uploader whose machine may lose its power."""

    def has_ended(self) -> bool:
        """Return True if the uploader has exited by itself."""
        return self._process is not None and self._process.poll() is not None

    def die(self) -> None:
        """Kill the uploader without waiting."""
        if self._process is not None:
            self._process.kill()


class Oncegate:
    """`oncegate broker` and `oncegate upload` on one data directory."""

    merges_overlapping_filters = True

    def __init__(self, data_directory: Path, settings: str = "") -> None:
        self.broker = BrokerProcess(SMALL_RESERVE + settings, data_directory=data_directory)
        self.port = self.broker.port
        self._uploader_log = self.broker.directory / "uploader.log"
        self._uploader_log.touch()
        self.uploader = CutUploader(data_directory, self._uploader_log)
        self._readiness: socket.socket | None = None

    def spawn(self) -> None:
        self._readiness = self.broker.notify_socket()
        self.broker.spawn({"NOTIFY_SOCKET": str(self._readiness.getsockname())})
        self.uploader.start()

    def await_ready(self) -> None:
        assert self._readiness is not None
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        with self._readiness:
            while time.monotonic() < deadline and self.broker.is_running:
                try:
                    if b"READY=1" in self._readiness.recv(4096).split(b"\n"):
                        break
                except TimeoutError:
                    continue
            else:
                ended = f"exit code {self.broker.exit_code}"
                said = self.broker.standard_error()
                raise AssertionError(f"no start after a cut ({ended}): {said}")

    def has_ended(self) -> bool:
        return not self.broker.is_running or self.uploader.has_ended()

    def damage(self) -> str | None:
        detail: str | None = self.broker.ask("status")["store"]["detail"]
        return detail

    def log(self) -> str:
        return self.broker.standard_error() + self.uploader_log()

    def uploader_log(self) -> str:
        """Return the uploader's log of all starts."""
        return self._uploader_log.read_text(errors="replace")

    def die(self) -> None:
        self.broker.signal(signal.SIGKILL)
        self.uploader.die()

    def bury(self) -> None:
        self.uploader.die()
        self.broker.kill()
        self.uploader.kill()
        if self._readiness is not None:
            self._readiness.close()

    def remove(self) -> None:
        self.bury()
        self.broker.remove()


class Mosquitto:
    """Debian's Mosquitto, configured to write its snapshot after every change."""

    merges_overlapping_filters = False

    def __init__(self, data_directory: Path, directory: Path) -> None:
        self.port = free_port()
        self._data_directory = data_directory
        self._configuration = directory / "mosquitto.conf"
        self._log = directory / "mosquitto.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser root\n"
            f"persistence true\npersistence_location {data_directory}/\n"
            "autosave_on_changes true\nautosave_interval 1\nmax_queued_messages 0\n"
        )

    def spawn(self) -> None:
        self._data_directory.mkdir(exist_ok=True)
        program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")
        assert program is not None, "Mosquitto is not installed (requirements/debian.txt)"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-c", self._configuration], stdout=log, stderr=log
            )

    def await_ready(self) -> None:
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, self._log.read_text()[-2000:]
                time.sleep(0.01)

    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def damage(self) -> str | None:
        return None

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def die(self) -> None:
        if self._process is not None:
            self._process.kill()

    def bury(self) -> None:
        if self._process is not None:
            self._process.wait(STOP_DEADLINE_SECONDS)

    def remove(self) -> None:
        self.die()
        self.bury()
