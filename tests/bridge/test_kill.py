"""The bridge's process killed with SIGKILL under load: nothing lost, nothing doubled."""

import asyncio
import contextlib
import json
import os
import random
import sqlite3
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from firmware_bridge.framings.board import frame_bytes_of, read_acknowledgement
from firmware_bridge.framings.frames import BoardIdentity, Damaged, Measurement

from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.terminal import Terminal

KILLS = 25
FRAMES_IN_FLIGHT = 16
# Between two kills, counted in acknowledged frames, so that each run gets somewhere.
FRAMES_PER_LIFE_MAX = 120

PROGRAM = """
import asyncio, signal, sys
from pathlib import Path
from firmware_bridge.main import serve
from firmware_bridge.settings import BridgeSettings, PortSettings

directory, port, link = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
settings = BridgeSettings(
    data_dir=directory, broker_host="127.0.0.1", broker_port=port, client_id="killed",
    username=None, password=None, control_socket=directory / "control.sock",
    ports=(PortSettings("board", link, None, "board"),), window=20,
)

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await serve(settings, stop)

asyncio.run(main())
"""


class Board:
    """Sends until it is told to stop; keeps each frame until its acknowledgement has come."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._sequence = 0
        self._unacknowledged: deque[int] = deque()
        self._changed = asyncio.Event()
        self.acknowledged = 0
        self.finishing = False

    @property
    def sent(self) -> int:
        return self._sequence

    async def send(self) -> None:
        loop = asyncio.get_running_loop()
        while not (self.finishing and not self._unacknowledged):
            while not self.finishing and len(self._unacknowledged) < FRAMES_IN_FLIGHT:
                self._sequence += 1
                self._unacknowledged.append(self._sequence)
            for sequence in list(self._unacknowledged):
                await self._terminal.write(
                    frame_bytes_of(BoardIdentity(7, 1, sequence), [Measurement("n", sequence)])
                )
            self._changed.clear()
            timer = loop.call_later(0.1, self._changed.set)
            await self._changed.wait()
            timer.cancel()

    async def listen(self) -> None:
        part = b""
        while True:
            *frames, part = (part + await self._terminal.read()).split(b"\x00")
            for frame in frames:
                try:
                    sequence = read_acknowledgement(frame).sequence if frame else 0
                except Damaged:
                    continue  # Cut by the kill.
                if sequence in self._unacknowledged:
                    self._unacknowledged.remove(sequence)
                    self.acknowledged += 1
                    self._changed.set()

    async def wait_for(self, acknowledged: int) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.acknowledged < acknowledged:
                await self._changed.wait()
                await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def _bridge(arguments: list[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process is gone when the block ends, also when the test fails in it."""
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def test_a_bridge_killed_at_random_moments_loses_and_doubles_nothing(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    seed = int(os.environ.get("ONCEGATE_TEST_SEED", random.randrange(2**32)))  # noqa: S311
    print(f"ONCEGATE_TEST_SEED={seed}")
    chance = random.Random(seed)  # noqa: S311
    board = Board(terminal)
    tasks = [asyncio.create_task(board.listen()), asyncio.create_task(board.send())]
    arguments = ["-c", PROGRAM, str(tmp_path / "data"), str(subscriber.port), str(terminal.link)]
    try:
        for _ in range(KILLS):
            async with _bridge(arguments) as process:
                await board.wait_for(board.acknowledged + chance.randint(1, FRAMES_PER_LIFE_MAX))
                process.kill()
        board.finishing = True
        async with _bridge(arguments) as process:
            await asyncio.wait_for(tasks[1], DEADLINE_SECONDS)
            await subscriber.arrival_of(board.sent)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), DEADLINE_SECONDS) == 0
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    # The clean stop has emptied the outbox: nothing more, and nothing a second time, can come.
    assert _rows(tmp_path / "data" / "outbox.db") == 0
    assert _numbers(subscriber) == {"board-00000007": list(range(1, board.sent + 1))}


def _rows(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM readings").fetchone()[0])


def _numbers(subscriber: Subscriber) -> dict[str, list[Any]]:
    """The sequences of each device, sorted: a loss is missing, a double stands twice."""
    numbers: dict[str, list[Any]] = defaultdict(list)
    for _, payload in subscriber.messages:
        (record,) = json.loads(payload)
        assert record["v"] == record["sequence"]
        numbers[record["device"]].append(record["sequence"])
    return {device: sorted(found) for device, found in numbers.items()}
