"""`oncegate bridge` on a machine whose power can be cut."""

import shutil
import signal
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tests.system.warm_command import WarmProcess

START_DEADLINE_SECONDS = 60.0
STOP_DEADLINE_SECONDS = 60.0

COMPLAINTS = ("the outbox was damaged", "has lost our session", "Traceback")
"""Log messages that must not appear on an honest disk."""


class BridgeProcess:
    """A bridge process. `serial` is the TOML of its serial ports."""

    def __init__(
        self, data_directory: Path, broker_port: int, serial: str, commit_delay: str = "0s"
    ) -> None:
        self.data_directory = data_directory
        self._directory = Path(tempfile.mkdtemp(prefix="oncegate-test-"))
        self._log = self._directory / "stderr"
        self._log.touch()
        self._said = 0
        self._process: WarmProcess | None = None
        self._configuration = self._directory / "gateway.toml"
        self._configuration.write_text(
            f'[gateway]\ndata_dir = "{data_directory}"\n'
            f'[bridge]\nbroker = "127.0.0.1:{broker_port}"\ncommit_delay = "{commit_delay}"\n'
            f"{serial}"
        )

    def spawn(self) -> None:
        self._said = len(self.log())
        with self._log.open("ab") as log:
            self._process = WarmProcess(
                ["bridge", "--config", str(self._configuration)],
                output=log,
                errors=log,
                directory=self._directory,
                environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            )

    def await_ready(self) -> None:
        self._await("bridge started")

    def await_connected(self) -> None:
        """Wait until the last log line about the broker reports a connection."""
        self._await("connected to the broker", unless_followed_by="no connection to the broker")

    def _await(self, words: str, *, unless_followed_by: str | None = None) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while True:
            _, found, behind = self.said_since_start().rpartition(words)
            if found and (unless_followed_by is None or unless_followed_by not in behind):
                return
            assert self._process.poll() is None, f"the bridge ended: {self.log()[-2000:]}"
            assert time.monotonic() < deadline, f"waited for {words!r}: {self.log()[-2000:]}"
            time.sleep(0.01)  # A process can only be polled.

    def said_since_start(self) -> str:
        """Return the log since the last start."""
        return self.log()[self._said :]

    def has_ended(self) -> bool:
        """Return True if the bridge has exited by itself."""
        return self._process is not None and self._process.poll() is not None

    def damage(self) -> str | None:
        """Return the first complaint in the log since the last start, or None."""
        lines = self.said_since_start().splitlines()
        return next((line for line in lines if any(word in line for word in COMPLAINTS)), None)

    def log(self) -> str:
        """Return the log of all starts."""
        return self._log.read_text(errors="replace")

    def readings_waiting(self) -> int:
        """Return the number of rows in the outbox."""
        with closing(sqlite3.connect(self.data_directory / "outbox.db")) as connection:
            return int(connection.execute("SELECT count(*) FROM readings").fetchone()[0])

    def stop(self) -> int:
        """Stop the bridge with SIGTERM. Return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_DEADLINE_SECONDS)

    def wait(self, seconds: float) -> int:
        """Wait until the bridge has exited by itself. Return its exit code."""
        assert self._process is not None
        return self._process.wait(seconds)

    def die(self) -> None:
        if self._process is not None:
            self._process.kill()

    def bury(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_DEADLINE_SECONDS)

    def remove(self) -> None:
        """Kill the bridge and remove its directory."""
        self.bury()
        shutil.rmtree(self._directory, ignore_errors=True)
