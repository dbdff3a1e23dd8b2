"""A cabinet with a board and a bridge, but without a broker."""

import asyncio

from tests.bridge.terminal import Terminal
from tests.instruments.powercut.bridge_process import BridgeProcess
from tests.instruments.powercut.campaign import workplace
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.instruments.powercut.sensors import Board
from tests.system.broker_process import free_port

DEADLINE_SECONDS = 30.0


class Cabinet:
    """A board, a bridge without a broker, and a mounted disk."""

    def __init__(self, disk: MountedDisk, window: int) -> None:
        self.disk = disk
        self.terminal = Terminal(disk.directory / "board")
        self.board = Board(self.terminal, 1, window=window, interval_seconds=0.002)
        serial = f'[[serial]]\nname = "board"\npath = "{self.terminal.link}"\n'
        self.bridge = BridgeProcess(workplace(disk.directory), free_port(), serial)

    async def start(self) -> None:
        """Start the bridge."""
        await asyncio.to_thread(self.bridge.spawn)
        await asyncio.to_thread(self.bridge.await_ready)

    async def accept(self, count: int) -> None:
        """Wait until the bridge has acknowledged `count` more frames."""
        before = len(self.board.accepted)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(self.board.accepted) < before + count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # Frames are counted where they are read.
