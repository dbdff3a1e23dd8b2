"""`oncegate bridge` of this checkout as a process of its own, and the number of readings in its
outbox."""

import contextlib
import sqlite3
from pathlib import Path

from tests.system.verb_process import VerbProcess


class BridgeProcess(VerbProcess):
    """A bridge process with the ports of `serial_tables`, which is TOML."""

    def __init__(self, directory: Path, broker_port: int, serial_tables: str) -> None:
        self.outbox = directory / "bridge" / "outbox.db"
        super().__init__(
            "bridge",
            directory,
            f'[gateway]\nid = "gateway-under-test"\ndata_dir = "{self.outbox.parent}"\n'
            f'[bridge]\nbroker = "127.0.0.1:{broker_port}"\n{serial_tables}',
        )

    def kill(self) -> None:
        """Kill the process with SIGKILL. Asserts that it had not ended by itself before."""
        assert self._process is None or self.is_running, self.log()
        super().kill()

    def waiting(self) -> int:
        """Return the number of readings in the outbox."""
        if not self.outbox.exists():
            return 0
        with contextlib.closing(sqlite3.connect(self.outbox)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM readings").fetchone()[0])
