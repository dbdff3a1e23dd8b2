"""`oncegate bridge` from these sources as a process of its own: start it, kill it, read its log."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STOP_SECONDS_MAX = 15.0


class BridgeProcess:
    """A bridge with the ports of `serial_tables`, which is TOML."""

    def __init__(self, directory: Path, broker_port: int, serial_tables: str) -> None:
        self.outbox = directory / "bridge" / "outbox.db"
        self._log = directory / "bridge.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._configuration = directory / "bridge.toml"
        self._configuration.write_text(
            f'[gateway]\nid = "gateway-under-test"\ndata_dir = "{self.outbox.parent}"\n'
            f'[bridge]\nbroker = "127.0.0.1:{broker_port}"\n{serial_tables}'
        )

    def start(self) -> None:
        """Start it and wait for nothing."""
        assert not self.is_running, "the bridge of this test runs already"
        options = ["--config", str(self._configuration)]
        path = os.pathsep.join(str(each) for each in (ROOT, ROOT / "firmware-bridge"))
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gateway.cli.main", "bridge", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": path},
            )

    @property
    def process_id(self) -> int:
        """Of the process that runs."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it with SIGKILL; it has not ended by itself before."""
        if self._process is not None:
            assert self._process.poll() is None, self.log()
            self._process.kill()
            self._process.wait(STOP_SECONDS_MAX)
            self._process = None

    def log(self) -> str:
        """What it has logged in all its lives."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def waiting(self) -> int:
        """How many readings its outbox holds."""
        if not self.outbox.exists():
            return 0
        with contextlib.closing(sqlite3.connect(self.outbox)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM readings").fetchone()[0])
