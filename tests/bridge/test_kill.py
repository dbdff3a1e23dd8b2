"""The bridge's process, killed with SIGKILL under load, loses no reading and duplicates none.

Meanwhile acknowledgements are lost, boards with the same number are swapped, and boards are flashed
again.
"""

import asyncio
import contextlib
import json
import os
import random
import sqlite3
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from firmware_bridge.protocols.board_frame import frame_bytes_of, read_acknowledgement
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity

from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.terminal import Terminal

KILLS = 25
FRAMES_IN_FLIGHT = 16
# Acknowledged frames between two kills, so that each run makes progress.
FRAMES_PER_LIFE_MAX = 120

PROGRAM = """
import asyncio, signal, sys
from pathlib import Path
from firmware_bridge.main import serve
from firmware_bridge.mqtt.settings import BrokerSettings
from firmware_bridge.protocols.board import Board
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.settings import BridgeSettings

directory, port, link = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
settings = BridgeSettings(
    data_dir=directory, broker=BrokerSettings("127.0.0.1", port, "killed"),
    control_socket=directory / "control.sock",
    ports=(PortSettings("board", link, None, "board", Board()),), window=20,
    commit_delay_seconds=float(sys.argv[4]),
)

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await serve(settings, stop)

asyncio.run(main())
"""


# Share of the acknowledgements that never reach the board.
LOST_SHARE = 0.1


class Board:
    """A board with number 7 in its start 1, which stores each frame until the acknowledgement
    arrives.

    `number` distinguishes two such boards in the test; the bridge cannot see it.
    """

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self._life = 0
        self._sequence = 0
        self.unacknowledged: deque[int] = deque()
        self.sent: set[int] = set()
        self.accepted: set[int] = set()

    def flash(self) -> None:
        """Flash the board again: it counts from the beginning and has lost its stored frames."""
        self._life += 1
        self._sequence = 0
        self.unacknowledged.clear()

    def measure(self) -> None:
        self._sequence += 1
        self.unacknowledged.append(self._sequence)

    def frame(self, sequence: int) -> bytes:
        value = self._value_of(sequence)
        self.sent.add(value)
        return frame_bytes_of(BoardIdentity(7, 1, sequence), [Measurement("n", value)])

    def take(self, sequence: int, *, lost: bool) -> None:
        """Record an acknowledgement.

        The bridge has accepted the frame even if `lost` keeps the acknowledgement from the board.
        """
        value = self._value_of(sequence)
        if value in self.sent:
            self.accepted.add(value)
        if sequence in self.unacknowledged and not lost:
            self.unacknowledged.remove(sequence)

    def _value_of(self, sequence: int) -> int:
        return (self.number * 1000 + self._life) * 1_000_000 + sequence


class Cable:
    """A cable on which the board that is plugged in sends until the end."""

    def __init__(self, terminal: Terminal, chance: random.Random) -> None:
        self.board = Board()
        self.finishing = False
        self.acknowledged = 0
        self._terminal = terminal
        self._chance = chance
        self._changed = asyncio.Event()

    def plug_in(self, board: Board) -> None:
        """Plug in another board. Bytes from the bridge for the previous board are lost."""
        self._terminal.discard()
        self.board = board

    async def send(self) -> None:
        loop = asyncio.get_running_loop()
        while not (self.finishing and not self.board.unacknowledged):
            board = self.board
            while not self.finishing and len(board.unacknowledged) < FRAMES_IN_FLIGHT:
                board.measure()
            for sequence in list(board.unacknowledged):
                if board is self.board and sequence in board.unacknowledged:
                    self._terminal.send(board.frame(sequence))
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
                    continue  # Truncated by the kill.
                if sequence:
                    self.board.take(sequence, lost=self._chance.random() < LOST_SHARE)
                    self.acknowledged += 1
                    self._changed.set()

    async def wait_for(self, acknowledged: int) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.acknowledged < acknowledged:
                await self._changed.wait()
                await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def _bridge(arguments: list[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a bridge process, which is killed at the end, also when the test fails."""
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _survive(
    cable: Cable,
    chance: random.Random,
    arguments: list[str],
    subscriber: Subscriber,
    between_kills: Callable[[], None],
) -> None:
    tasks = [asyncio.create_task(cable.listen()), asyncio.create_task(cable.send())]
    try:
        for _ in range(KILLS):
            # As on a card, where frames wait for company, and without.
            delay = chance.choice(("0", "0.05"))
            async with _bridge([*arguments, delay]) as process:
                await cable.wait_for(cable.acknowledged + chance.randint(1, FRAMES_PER_LIFE_MAX))
                process.kill()
                await process.wait()
            between_kills()
        cable.finishing = True
        async with _bridge([*arguments, "0.05"]) as process:
            await asyncio.wait_for(tasks[1], DEADLINE_SECONDS)
            await _until_drained(subscriber, Path(arguments[2]) / "outbox.db")
            process.terminate()
            assert await asyncio.wait_for(process.wait(), DEADLINE_SECONDS) == 0
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    # The clean stop has emptied the outbox: nothing more, and nothing a second time, can come.
    assert _rows(Path(arguments[2]) / "outbox.db") == 0


async def test_a_bridge_killed_at_random_moments_loses_and_doubles_nothing(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    chance = _chance()
    cable = Cable(terminal, chance)
    arguments = ["-c", PROGRAM, str(tmp_path / "data"), str(subscriber.port), str(terminal.link)]
    await _survive(cable, chance, arguments, subscriber, lambda: None)
    records = _records(subscriber)
    assert sorted(record["v"] for record in records) == sorted(cable.board.sent)
    assert {record["boot"] for record in records} == {1}
    assert all(record["v"] == record["sequence"] for record in records)


async def test_boards_flashed_and_swapped_while_the_bridge_is_killed_lose_and_double_nothing(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    chance = _chance()
    cable = Cable(terminal, chance)
    boards = [cable.board, Board(1)]

    def between_kills() -> None:
        if chance.random() < 0.4:
            cable.plug_in(boards[chance.randrange(2)])
        if chance.random() < 0.3:
            cable.board.flash()

    arguments = ["-c", PROGRAM, str(tmp_path / "data"), str(subscriber.port), str(terminal.link)]
    await _survive(cable, chance, arguments, subscriber, between_kills)
    records = _records(subscriber)
    values = [record["v"] for record in records]
    assert len(set(values)) == len(values), "doubled"
    assert cable.acknowledged > KILLS
    assert set().union(*(board.accepted for board in boards)) <= set(values), "lost"
    numbers = [(record["boot"], record["sequence"]) for record in records]
    assert len(set(numbers)) == len(numbers)
    assert {boot % 2**32 for boot, _ in numbers} == {1}


def _chance() -> random.Random:
    seed = int(os.environ.get("ONCEGATE_TEST_SEED", random.randrange(2**32)))  # noqa: S311
    print(f"ONCEGATE_TEST_SEED={seed}")
    return random.Random(seed)  # noqa: S311


async def _until_drained(subscriber: Subscriber, outbox: Path) -> None:
    """Wait until the outbox is empty and the subscriber has received every reading from it."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while _rows(outbox):  # noqa: ASYNC110 - another process's file can only be asked again
            await asyncio.sleep(0.05)
    await subscriber.settled()


def _rows(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM readings").fetchone()[0])


def _records(subscriber: Subscriber) -> list[dict[str, Any]]:
    found = [json.loads(payload) for _, payload in subscriber.messages]
    assert all(len(records) == 1 for records in found)
    return [records[0] for records in found]
