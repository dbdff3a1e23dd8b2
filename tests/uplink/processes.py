"""The uplink as a process of its own, from these sources: start it, stop it, kill it, read its log.

Its brokers are started from these sources too.
"""

import asyncio
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.system.broker_process import BrokerProcess

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 30.0
STOP_SECONDS_MAX = 15.0


def broker_from_these_sources(
    settings: str | None = None, *, listener_settings: str = ""
) -> BrokerProcess:
    """A broker of this tree, also where another one is installed."""
    broker = BrokerProcess(settings, listener_settings=listener_settings)
    broker.planted = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    return broker


class UplinkProcess:
    """`oncegate uplink` between a broker on this machine and one at `remote_port`.

    `section` is TOML of `[uplink]` without the addresses, `topics` of its topics.
    """

    def __init__(
        self, local: BrokerProcess, remote_port: int, topics: str, section: str = ""
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="uplink-", dir=local.directory))
        self.data_directory = self.directory / "data"
        self._log = self.directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._configuration = self.directory / "gateway.toml"
        self._configuration.write_text(
            f'[gateway]\nid = "gateway-under-test"\ndata_dir = "{self.data_directory}"\n'
            f'control_dir = "{local.data_directory}"\n'
            f'[uplink]\naddress = "127.0.0.1:{remote_port}"\n'
            f'local_broker = "127.0.0.1:{local.port}"\n{section}\n{topics}\n'
        )

    def start(self) -> None:
        """Start the process and do not wait for anything."""
        assert not self.is_running, "the uplink of this test runs already"
        options = ["--config", str(self._configuration)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gateway.cli.main", "uplink", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            )

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """What it has logged in all its lives."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    async def logged(self, text: str, *, count: int = 1) -> None:
        """Wait until its log has a text so often."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.log().count(text) < count:
                assert self.is_running, self.log()
                await asyncio.sleep(0.02)  # A process can only be asked.

    async def connected(self, *, count: int = 1) -> None:
        """Wait until it is connected to both brokers, and has subscribed there."""
        await self.logged("connected to the local", count=count)
        await self.logged("connected to the remote", count=count)

    def stop(self) -> int:
        """Stop it with SIGTERM; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_SECONDS_MAX)

    def kill(self) -> None:
        """Stop it with SIGKILL: nothing is tidied up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_SECONDS_MAX)
