"""SIGKILL of the uploader at random moments: the resulting log has no gap and no duplicate.

The uploader reads a real journal. This process writes to it and removes exported files meanwhile.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from functools import partial
from pathlib import Path

from gateway.broker.store.journal import Journal
from gateway.broker.store.journal_files import journal_files
from gateway.broker.store.journal_scan import JournalScan
from gateway.uploader.segments.names import segments_in
from tests.uploader.chains import check_chain
from tests.uploader.journals import Broker, first_sequence_of
from tests.uploader.listener import Listener
from tests.uploader.stage import DEADLINE_SECONDS, segments_of, until

KILLS = 15

FILE_BYTES = 64 * 1024
"""Length of a journal file in bytes: about two batches. Only whole files are removed, and one file
of the usual length would hold all batches of a typical run of this test."""


async def started(data_dir: Path) -> asyncio.subprocess.Process:
    script = Path(__file__).with_name("process_under_test.py")
    return await asyncio.create_subprocess_exec(sys.executable, str(script), str(data_dir))


class Sender:
    """The broker's part: it appends batches to the journal, and removes exported files."""

    def __init__(self, data_dir: Path, chance: random.Random) -> None:
        self.journal = Journal(data_dir, FILE_BYTES)
        self.journal.resume(JournalScan(self.journal.folder, checkpoint=1))
        self.broker = Broker()
        self._commit(self.broker.started())
        self._chance = chance
        self._exported_sequence = 0

    def append(self, listener: Listener) -> None:
        """Append one batch, and remove the files whose events were all reported as exported.

        A false report from the exporter loses events, as in the broker.
        """
        self._commit(self.broker.exchanges(self._chance.randrange(1, 400)))
        for request in listener.of("exported"):
            sequence = request["sequence"]
            assert isinstance(sequence, int)
            self._exported_sequence = max(self._exported_sequence, sequence)
        listener.requests.clear()
        self.journal.drop(self._exported_sequence + 1)

    def _commit(self, blob: bytes) -> None:
        self.journal.append(first_sequence_of(blob), blob)


def segment_count(data_dir: Path) -> int:
    """Return how many segments were ever sealed: the number of the newest one."""
    directories = [data_dir / "log" / "sealed", data_dir / "uploaded"]
    names = [n for path in directories if path.is_dir() for n in segments_in(path)]
    return max((name.segment for name in names), default=0)


def reaches(data_dir: Path, wanted: int) -> bool:
    return segment_count(data_dir) >= wanted


async def killed_within(process: asyncio.subprocess.Process, seconds: float) -> None:
    """Kill the process after some time. Asserts that it does not end by itself before."""
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
    print(f"seed {seed}")  # Pytest shows the seed with a failure.
    chance = random.Random(seed)  # noqa: S311
    sender = Sender(tmp_path, chance)
    async with Listener(tmp_path / "control.sock", sender.broker.boot) as listener:
        for _ in range(KILLS):
            process = await started(tmp_path)
            for _ in range(chance.randrange(4)):
                wanted = segment_count(tmp_path) + 1
                sender.append(listener)
                await until(partial(reaches, tmp_path, wanted))
            for _ in range(chance.randrange(3)):
                sender.append(listener)
            # A random moment while it starts, reads, writes, seals, uploads or removes files.
            await killed_within(process, chance.random() * chance.choice((0.01, 0.1, 0.5)))
        sender.append(listener)
        last = await started(tmp_path)
        await until(
            lambda: (
                listener.last_status().get("last_sealed_sequence") == sender.broker.last_sequence
            )
        )
        last.terminate()
        async with asyncio.timeout(DEADLINE_SECONDS):
            assert await last.wait() == 0
    sender.journal.close()
    # Files were removed: a false report would have lost events.
    assert journal_files(sender.journal.folder)[0].first_sequence > 1
    segments = segments_of(tmp_path / "uploaded")
    check_chain(segments)
    sequences = [event["sequence"] for segment in segments for event in segment.events]
    assert sequences == list(range(1, sender.broker.last_sequence + 1))
    assert len(segments) > KILLS
    assert not any((tmp_path / "log" / "sealed").iterdir())
