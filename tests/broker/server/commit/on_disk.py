"""A committer with its store on a real disk, without the broker's event loop."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from gateway.broker.core.broker import Broker
from gateway.broker.core.limits import Limits as CoreLimits
from gateway.broker.core.records.kinds import Observation
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.server.commit.committer import Committer
from gateway.broker.server.commit.faults import StoreFailed
from gateway.broker.server.commit.outcomes import Outcomes
from gateway.broker.server.host.clock import WallClock
from gateway.broker.store import journal
from gateway.broker.store.store import Store
from gateway.configuration.sections import Limits


class CommitterOnDisk:
    """A committer and its store; `released` is called when the bytes of a batch may leave.

    `failures` collects the errors that would end the broker.
    """

    def __init__(
        self,
        data_dir: Path,
        released: Callable[[], None] = lambda: None,
        journal_file_bytes: int = journal.FILE_BYTES,
        store_class: type[Store] = Store,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.store = store_class(data_dir, journal_file_bytes)
        self.opened = self.store.open([], loop.time())
        state = self.opened.recovered.state
        self.recorder = Recorder(state, self.opened.store, b"\x01" * 8, 1, 1)
        self.broker = Broker(state, self.recorder, CoreLimits(), False, [])
        self.failures: list[StoreFailed] = []
        self.released = asyncio.Event()
        self._released = released
        self.committer = Committer(
            self.broker,
            self.store,
            self.opened.recovered,
            Limits(lazy_commit_delay=0.0),
            WallClock(),
            Outcomes(released=self._release, failed=self.failures.append),
        )

    def _release(self) -> None:
        self.released.set()
        self._released()

    async def commit(self, records: int = 1, detail: str = "") -> None:
        """Commit a batch with this number of records."""
        for _ in range(records):
            self.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", detail)
        self.released.clear()
        self.committer.tick()
        await self.released.wait()

    async def checkpoint(self) -> None:
        """Write a checkpoint and wait until it is fsynced."""
        now = asyncio.get_running_loop().time()
        self.store.begin_checkpoint(self.opened.recovered, self.recorder.next_sequence, now)
        while self.store.checkpointing:
            self.committer.tick()
            await self.committer.checkpoints.committed()
        await self.committer.checkpoints.finished()

    async def close(self) -> None:
        """Commit the remaining records, and close the files."""
        await self.committer.drain()
        self.store.close(clean=not self.failures)
