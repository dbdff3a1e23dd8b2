"""The uplink of this checkout as a process of its own, and its log lines about connections."""

import asyncio
import tempfile
from pathlib import Path

from tests.system.broker_process import BrokerProcess
from tests.system.verb_process import VerbProcess

DEADLINE_SECONDS = 60.0


class UplinkProcess(VerbProcess):
    """`oncegate uplink` between a broker on this machine and one at `remote_port`.

    `section` is TOML with keys of `[uplink]` except the addresses, and `topics` is TOML with its
    topics.
    """

    def __init__(
        self, local: BrokerProcess, remote_port: int, topics: str, section: str = ""
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="uplink-", dir=local.directory))
        self.data_directory = self.directory / "data"
        super().__init__(
            "uplink",
            self.directory,
            f'[gateway]\nid = "gateway-under-test"\ndata_dir = "{self.data_directory}"\n'
            f'control_dir = "{local.data_directory}"\n'
            f'[uplink]\naddress = "127.0.0.1:{remote_port}"\n'
            f'local_broker = "127.0.0.1:{local.port}"\n{section}\n{topics}\n',
        )

    async def logged(self, text: str, *, count: int = 1) -> None:
        """Wait until the process has logged a text `count` times."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.log().count(text) < count:
                assert self.is_running, self.log()
                await asyncio.sleep(0.02)  # Polled: a process sends no event for a log line.

    async def connected(self, *, count: int = 1) -> None:
        """Wait until the uplink is connected to both brokers and subscribed there, for the
        `count`-th time."""
        await self.logged("connected to the local", count=count)
        await self.logged("connected to the remote", count=count)
