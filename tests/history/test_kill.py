"""SIGKILL at random moments: the log that comes out has no gap and no double."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from pathlib import Path

from gateway.history.verify import check_chain
from tests.history.journals import Broker, DiskJournal
from tests.history.listener import Listener, listening
from tests.history.stage import DEADLINE_SECONDS, segments_of, until

KILLS = 15


async def started(data_dir: Path) -> asyncio.subprocess.Process:
    script = Path(__file__).with_name("process_under_test.py")
    return await asyncio.create_subprocess_exec(sys.executable, str(script), str(data_dir))


def forget_exported(listener: Listener, journal: DiskJournal) -> None:
    """Drop from the journal what the exporter said it has: a lie would lose events here."""
    for request in listener.of("exported"):
        sequence = request["sequence"]
        assert isinstance(sequence, int)
        journal.drop_through(sequence)


async def killed_within(process: asyncio.subprocess.Process, seconds: float) -> None:
    """Let it run on for some time, which it must not end by itself, and kill it."""
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        process.kill()
    assert await process.wait() == -signal.SIGKILL


async def test_a_process_killed_at_random_moments_leaves_a_log_without_gap_and_double(
    tmp_path: Path,
) -> None:
    seed = random.randrange(1 << 32)  # noqa: S311 - it only has to vary
    print(f"seed {seed}")  # pytest shows it with a failure
    chance = random.Random(seed)  # noqa: S311
    journal = DiskJournal(tmp_path / "journal.sqlite")
    broker = Broker()
    journal.append(broker.started())
    async with listening(tmp_path / "control.sock", broker.boot) as listener:
        for _ in range(KILLS):
            listener.requests.clear()
            process = await started(tmp_path)
            await until(lambda: bool(listener.requests))
            for _ in range(chance.randrange(1, 12)):
                journal.append(broker.exchanges(chance.randrange(1, 400)))
                forget_exported(listener, journal)
            # Anywhere between reading, writing, sealing, uploading and pruning.
            await killed_within(process, chance.random() * 0.3)
        forget_exported(listener, journal)
        last = await started(tmp_path)
        await until(
            lambda: listener.last_status().get("last_sealed_sequence") == broker.last_sequence
        )
        last.terminate()
        async with asyncio.timeout(DEADLINE_SECONDS):
            assert await last.wait() == 0
    journal.close()
    segments = segments_of(tmp_path / "uploaded")
    check_chain(segments)
    sequences = [event["sequence"] for segment in segments for event in segment.events]
    assert sequences == list(range(1, broker.last_sequence + 1))
    assert len(segments) > KILLS, "it was killed so early that nothing was tried"
    assert not any((tmp_path / "log" / "sealed").iterdir())
