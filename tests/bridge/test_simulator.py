"""The simulated board behaves like a sensor and survives restarts of the bridge."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from firmware_bridge import simulator

from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.running import port_of, running_bridge, settings_of
from tests.system.broker_process import free_port

INTERVAL_SECONDS = 0.06
SPAN = 20
"""Samples over which a minimum time must have passed, however late single samples were."""


@contextlib.asynccontextmanager
async def simulated_board(link: Path, interval_seconds: float = 0.02) -> AsyncIterator[None]:
    stop = asyncio.Event()
    serving = asyncio.create_task(simulator.serve(link, stop, interval_seconds))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(serving, DEADLINE_SECONDS)


async def test_every_frame_arrives_once_and_in_order_through_restarts_of_the_bridge(
    subscriber: Subscriber, tmp_path: Path
) -> None:
    link = tmp_path / "board"
    settings = settings_of(tmp_path / "data", subscriber.port, port_of("board", link, "board"))
    async with simulated_board(link, interval_seconds=INTERVAL_SECONDS):
        for restart in range(1, 4):
            async with running_bridge(settings):
                await subscriber.arrival_of(60 * restart)
    records = [record for record in subscriber.records() if record["n"].endswith("/temperature")]
    sequences = [record["sequence"] for record in records]
    assert sequences == list(range(1, len(sequences) + 1))
    assert {record["boot"] for record in records} == {1}
    assert all(10 < record["v"] < 35 and record["u"] == "Cel" for record in records)
    times = [record["t"] for record in records]
    # The transmission counts in a frame's time. On a busy machine it takes longer than the interval
    # between two samples, and frames that waited for the bridge arrive together.
    spans = [later - earlier for earlier, later in zip(times, times[SPAN:], strict=False)]
    least = SPAN * INTERVAL_SECONDS / 2
    assert min(spans) > least, "a reading has the time at which it was measured"
    assert {record["topic"] for record in subscriber.records()} == {
        f"sensors/board-0000002a/{name}" for name in ("temperature", "humidity", "pressure")
    }


async def test_the_link_is_gone_and_the_start_counted_when_it_stops(tmp_path: Path) -> None:
    link = tmp_path / "board"
    settings = settings_of(tmp_path / "data", free_port(), port_of("board", link, "board"))
    for start in (1, 2):
        async with simulated_board(link), running_bridge(settings) as room:
            await room.wait_for_port("board", "open")
            assert (tmp_path / "board.boot").read_text() == f"{start}\n"
        assert not _is_there(link)


def _is_there(link: Path) -> bool:
    return os.path.lexists(link)


def test_an_unreadable_count_never_gives_a_number_again(tmp_path: Path) -> None:
    count = tmp_path / "board.boot"
    count.write_text("rubbish")
    assert simulator.count_start(count) > 1_700_000_000


def test_a_board_keeps_only_what_its_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "FRAMES_KEPT_MAX", 10)
    board = simulator.SimulatedBoard(-1, 42, 1)
    for _ in range(15):
        board.measure()
    assert (board.waiting, board.given_up) == (10, 5)


async def test_a_link_of_a_running_simulator_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    link = tmp_path / "board"
    async with simulated_board(link):
        # The simulator creates the link before its first await.
        await asyncio.sleep(0)
        terminal = link.readlink()
        with pytest.raises(simulator.LinkTaken, match=f"process {os.getpid()} simulates a board"):
            await simulator.serve(link, asyncio.Event())
        assert link.readlink() == terminal
    assert not link.is_symlink()


async def test_a_link_that_a_killed_simulator_left_is_replaced(tmp_path: Path) -> None:
    link = tmp_path / "board"
    link.symlink_to("/dev/pts/999999")
    async with simulated_board(link):
        # The simulator creates the link before its first await.
        await asyncio.sleep(0)
        assert link.is_char_device()


def _identity(path: Path) -> tuple[int, int, int, int]:
    # The access time is left out: reading a link changes it.
    status = path.lstat()
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)


@pytest.mark.parametrize("what", ["a file", "a link to a port"])
async def test_what_is_no_link_of_a_simulator_is_refused_and_stays(
    what: str, tmp_path: Path
) -> None:
    link = tmp_path / "board"
    if what == "a file":
        link.write_text("mine")
    else:
        link.symlink_to("/dev/null")
    before = _identity(link)
    with pytest.raises(simulator.LinkTaken, match="name another"):
        await simulator.serve(link, asyncio.Event())
    assert _identity(link) == before
