"""The real broker as a process of its own, which a test starts, stops, kills and queries.

Each broker has a data directory under the system's directory for temporary files. Its path is
short, because Unix socket addresses hold at most 108 bytes. The caller has to call `remove` at the
end, whatever happened before.
"""

import functools
import itertools
import json
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.system.warm_command import WarmProcess

START_DEADLINE_SECONDS = 60.0
STOP_DEADLINE_SECONDS = 60.0
PORTS_OF_A_PROCESS = 100


def oncegate_command() -> list[str]:
    """Return the command `oncegate` that is installed next to the Python running the tests."""
    return [str(Path(sys.executable).with_name("oncegate"))]


@functools.cache
def _claimed_ports() -> tuple[socket.socket, Iterator[int]]:
    """Return the socket that claims a block of ports for this process, and these ports."""
    for first in random.sample(range(20000, 30000, PORTS_OF_A_PROCESS), 100):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            # An abstract address is free again when this process ends, however it ends.
            claim.bind(f"\0oncegate-test-ports-{first}")
        except OSError:
            claim.close()
            continue
        return claim, itertools.cycle(range(first, first + PORTS_OF_A_PROCESS))
    raise AssertionError("a hundred processes of the tests run already")


def free_port() -> int:
    """Return a free TCP port outside the range from which the kernel takes ports for outgoing
    connections.

    A restarted broker must find its port free: neither a client's local end nor a broker of tests
    that run at the same time may have it. No other process of the tests is given the port between
    this check and the moment at which the broker listens.
    """
    _, ports = _claimed_ports()
    for port in itertools.islice(ports, PORTS_OF_A_PROCESS):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"none of {PORTS_OF_A_PROCESS} ports between 20000 and 30000 is free")


class BrokerProcess:
    """`oncegate broker` on a loopback port.

    `settings` is TOML in addition to the listener and the data directory, e.g.
    "[mqtt]\\nmax_inflight = 2". Without settings the broker runs as for a user who has no
    configuration file. `remove` does not delete a data directory that was passed in.
    """

    def __init__(
        self,
        settings: str | None = None,
        *,
        listener_settings: str = "",
        data_directory: Path | None = None,
    ) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="oncegate-test-"))
        self.data_directory = data_directory or self.directory / "data"
        self.planted = ""
        """Python that the process runs first to plant a defect, or "" for none."""
        self._stderr_path = self.directory / "stderr"
        self._process: WarmProcess | subprocess.Popen[bytes] | None = None
        self._configuration: Path | None = None
        if settings is not None or listener_settings:
            self._configuration = self.directory / "gateway.toml"
            self._configuration.write_text(
                f'[gateway]\ndata_dir = "{self.data_directory}"\n'
                f'[[listeners]]\nbind = "127.0.0.1"\nport = {self.port}\n{listener_settings}\n'
                f"{settings or ''}\n"
            )

    def replace_in_configuration(self, old: str, new: str) -> None:
        """Change the configuration file. A running broker reads it only when it reloads."""
        assert self._configuration is not None
        self._configuration.write_text(self._configuration.read_text().replace(old, new))

    def _arguments(self) -> list[str]:
        if self._configuration is not None:
            return ["broker", "--config", str(self._configuration)]
        listen = ["--listen", f"127.0.0.1:{self.port}"]
        return ["broker", *listen, "--data-dir", str(self.data_directory)]

    # Processes

    def start(self) -> None:
        """Start the process and wait for its READY=1, as systemd does.

        Its later notifications are not read, which must not disturb the broker.
        """
        with self.notify_socket() as readiness:
            self.spawn({"NOTIFY_SOCKET": str(readiness.getsockname())})
            deadline = time.monotonic() + START_DEADLINE_SECONDS
            while time.monotonic() < deadline and self.is_running:
                try:
                    if b"READY=1" in readiness.recv(4096).split(b"\n"):
                        return
                except TimeoutError:
                    continue
        raise AssertionError(f"the broker did not become ready: {self.standard_error()}")

    def spawn(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the process without waiting for anything."""
        assert not self.is_running, "the broker of this test runs already"
        clean = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"} | dict(environment or {})
        if self._configuration is None or "connect_timeout" not in self._configuration.read_text():
            # On a machine that is busy with other tests, the check of a password may take long.
            clean.setdefault("ONCEGATE_MQTT_CONNECT_TIMEOUT", f"{START_DEADLINE_SECONDS:g}s")
        if self.planted:
            # A planted defect replaces functions, which is impossible in a compiled core.
            clean["ONCEGATE_COMPILE"] = "0"
        with self._stderr_path.open("ab") as stderr:
            if self.planted or "PYTHONPATH" in clean:
                main = "from gateway.cli.main import main; main()"
                self._process = subprocess.Popen(
                    [sys.executable, "-c", f"{self.planted}\n{main}", *self._arguments()],
                    stdin=subprocess.DEVNULL,
                    stdout=stderr,
                    stderr=stderr,
                    env=clean,
                    cwd=self.directory,
                )
            else:
                self._process = WarmProcess(
                    self._arguments(),
                    output=stderr,
                    errors=stderr,
                    directory=self.directory,
                    environment=clean,
                )

    def second_start_exit_code(self) -> int:
        """Start a second process on the same port and data, wait until it gives up, and return its
        exit code."""
        second = subprocess.run(
            [*oncegate_command(), *self._arguments()],
            capture_output=True,
            timeout=START_DEADLINE_SECONDS,
            check=False,
        )
        return second.returncode

    def notify_socket(self) -> socket.socket:
        """Return a socket for NOTIFY_SOCKET, like that of systemd."""
        path = self.directory / "notify"
        path.unlink(missing_ok=True)
        readiness = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        readiness.bind(str(path))
        # A short timeout, so that a broker that dies at its start is noticed immediately.
        readiness.settimeout(0.1)
        return readiness

    @property
    def is_running(self) -> bool:
        """True while the process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Exit code of the process, or the negative number of the signal that ended it.

        None while it is alive.
        """
        return None if self._process is None else self._process.poll()

    @property
    def process_id(self) -> int:
        """The id of the running process."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> int:
        """Stop the process with SIGTERM and return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_DEADLINE_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Stop the process with SIGKILL, so that it cannot clean up."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_DEADLINE_SECONDS)

    def restart(self, how: str) -> None:
        """Stop the process with SIGTERM (`terminated`) or SIGKILL (`killed`), and start it again on
        the same data."""
        if how == "killed":
            self.kill()
        else:
            assert self.stop() == 0, self.standard_error()
        self.start()

    def remove(self) -> None:
        """Kill the process if it runs, and remove the broker's directory."""
        if self.is_running:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def standard_error(self) -> str:
        """Return everything that the broker has written to standard error, over all its starts."""
        if not self._stderr_path.exists():
            return ""
        return self._stderr_path.read_text(errors="replace")

    def resident_bytes(self) -> int:
        """Return the memory that the process occupies now."""
        status = Path(f"/proc/{self.process_id}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    # Questions

    def ask(self, command: str, **arguments: object) -> Any:
        """Return the result of a command on the control socket (docs/formats/control-socket.md)."""
        answer = self.answer_of(command, **arguments)
        assert answer["ok"], answer
        return answer["result"]

    def answer_of(self, command: str, **arguments: object) -> Any:
        """Return the complete response of the control socket, also if it is an error."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            control.settimeout(STOP_DEADLINE_SECONDS)
            control.connect(str(self.data_directory / "control.sock"))
            control.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            with control.makefile("rb") as lines:
                return json.loads(lines.readline())

    def rows_of(self, *tables: str) -> dict[str, int]:
        """Return the number of rows in these state tables of a stopped broker."""
        assert not self.is_running, "the tables are the broker's while it runs"
        with sqlite3.connect(self.data_directory / "broker.db") as database:
            return {
                table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
                for table in tables
            }
