"""Frames of boards wait for further frames, if that does not delay a board."""

import asyncio
import time
from pathlib import Path

import pytest
from firmware_bridge.outbox.boards import DEVICES_MAX
from firmware_bridge.outbox.gathering import FRAMES_GATHERED_MAX, PROMPT_SECONDS, Gathering

from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.outbox.bench import Bench, readings, rows_of, running, submit_frame

LONG_SECONDS = 10 * DEADLINE_SECONDS
SHORT_SECONDS = 0.2


def test_a_board_that_sends_on_without_acknowledgements_waits_for_them_together() -> None:
    gathering = Gathering()
    assert all(gathering.take(42, float(second)) for second in range(5))
    for _ in range(5):
        gathering.acknowledge(42, 5.0)
    assert gathering.take(42, 5.01), "it was not waiting"


def test_a_board_that_waits_for_each_acknowledgement_is_not_held_up() -> None:
    gathering = Gathering()
    assert gathering.take(42, 0.0)
    gathering.acknowledge(42, 10.0)
    now = 10.0
    for _ in range(3):
        assert not gathering.take(42, now + 0.02), "its next frame came because of the word"
        now += 0.03
        gathering.acknowledge(42, now)
    # The board has caught up: its next frame is one that it has just measured.
    assert gathering.take(42, now + 2 * PROMPT_SECONDS)


def test_a_board_has_frames_under_way_while_others_are_committed() -> None:
    gathering = Gathering()
    may_wait = [gathering.take(42, 0.0) for _ in range(FRAMES_GATHERED_MAX)]
    assert may_wait == [True] * (FRAMES_GATHERED_MAX - 1) + [False]
    assert gathering.take(43, 0.0), "another board has its own line"


def test_device_numbers_that_never_come_again_are_forgotten() -> None:
    gathering = Gathering()
    gathering.take(42, 0.0)
    for device in range(100, 100 + 3 * DEVICES_MAX):
        gathering.take(device, 0.0)
        gathering.acknowledge(device, 0.0)
        assert len(gathering) <= DEVICES_MAX
    gathering.acknowledge(42, 1.0)
    assert not gathering.take(42, 1.02), "it was waiting, so it was not forgotten"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


async def durably(*waiting: "asyncio.Future[None]") -> None:
    await asyncio.wait_for(asyncio.gather(*map(asyncio.shield, waiting)), DEADLINE_SECONDS)


async def test_frames_share_a_commit_that_comes_after_the_delay(path: Path) -> None:
    async with running(Bench(path, commit_delay_seconds=SHORT_SECONDS)) as bench:
        await bench.settled()
        commits = bench.store.commits
        began = time.monotonic()
        await durably(*(submit_frame(bench, number, f"r{number}")[0] for number in range(1, 6)))
        assert time.monotonic() - began >= SHORT_SECONDS * 0.9
        assert bench.store.commits == commits + 1


async def test_what_the_broker_said_goes_with_the_next_frames(path: Path) -> None:
    async with running(Bench(path, commit_delay_seconds=LONG_SECONDS)) as bench:
        bench.connect()
        submit_frame(bench, 1, "a")
        bench.outbox.commit_now()
        await bench.sends("a of 1 as 1")
        commits = bench.store.commits
        bench.outbox.receive_pubrec(1)
        submit_frame(bench, 2, "b")
        await asyncio.sleep(SHORT_SECONDS)
        assert (bench.sent, bench.store.commits) == ([], commits)
        bench.outbox.commit_now()
        await bench.sends("release 1", "b of 1 as 2")
        assert bench.store.commits == commits + 1


async def test_a_sensor_that_keeps_nothing_does_not_wait_and_takes_frames_along(
    path: Path,
) -> None:
    async with running(Bench(path, commit_delay_seconds=LONG_SECONDS)) as bench:
        frame, _ = submit_frame(bench, 1, "a")
        await durably(bench.outbox.submit(readings("line")), frame)
        assert [payload for payload, _, _ in rows_of(path)] == [b"a of 1", b"line"]


async def test_a_frame_whose_acknowledgement_was_lost_is_answered_immediately(path: Path) -> None:
    async with running(Bench(path, commit_delay_seconds=LONG_SECONDS)) as bench:
        submit_frame(bench, 1, "a")
        await bench.settled()
        again, placement = submit_frame(bench, 1, "a")
        assert not placement.is_new
        await durably(again)


async def test_more_than_the_window_takes_does_not_wait(path: Path) -> None:
    async with running(Bench(path, window=2, commit_delay_seconds=LONG_SECONDS)) as bench:
        bench.connect()
        await bench.settled()
        for number, name in enumerate("abcd", 1):
            submit_frame(bench, number, name)
        await bench.sends("a of 1 as 1", "b of 1 as 2")
        bench.outbox.receive_pubrec(1)
        await bench.sends("release 1")
        bench.outbox.receive_pubcomp(1)
        await bench.sends("c of 1 as 3")


async def test_the_end_waits_for_nothing(path: Path) -> None:
    async with running(Bench(path, commit_delay_seconds=LONG_SECONDS)) as bench:
        bench.connect()
        submit_frame(bench, 1, "a")
        await bench.settled()
        await bench.sends("a of 1 as 1")
        empty = asyncio.create_task(bench.outbox.wait_until_empty())
        bench.outbox.receive_pubrec(1)
        await bench.sends("release 1")
        bench.outbox.receive_pubcomp(1)
        await asyncio.wait_for(empty, DEADLINE_SECONDS)
        submit_frame(bench, 2, "b")
    assert [payload for payload, _, _ in rows_of(path)] == [b"b of 1"]
