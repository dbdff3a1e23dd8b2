"""How a broker ends: whatever it was in the middle of, and whatever went wrong."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.configuration import Configuration
from gateway.configuration.sections import Gateway, Limits, Listener
from gateway.core.broker import Broker
from gateway.core.limits import Limits as CoreLimits
from gateway.core.records.kinds import Observation
from gateway.core.records.recorder import Recorder
from gateway.server.commit.committer import Committer
from gateway.server.commit.faults import StoreFailed
from gateway.server.host.clock import WallClock
from gateway.server.main import serve
from gateway.store import journal
from gateway.store.store import Store

DEADLINE_SECONDS = 20


class Ending:
    """A committer with its store, and no shell around it."""

    def __init__(
        self,
        data_dir: Path,
        spoken: Callable[[], None],
        journal_file_bytes: int = journal.FILE_BYTES,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.store = Store(data_dir, journal_file_bytes)
        self.opened = self.store.open([], loop.time())
        state = self.opened.recovered.state
        self.recorder = Recorder(state, self.opened.store, b"\x01" * 8, 1, 1)
        self.committer = Committer(
            Broker(state, self.recorder, CoreLimits(), False, []),
            self.store,
            self.opened.recovered,
            Limits(lazy_commit_delay=0.0),
            WallClock(),
            released=spoken,
            failed=lambda failure: None,
        )


async def _drop_while_draining(data_dir: Path) -> None:
    spoken = asyncio.Event()
    ending = Ending(data_dir, spoken.set, journal_file_bytes=300)
    store, recorder, committer = ending.store, ending.recorder, ending.committer
    for _ in range(10):
        recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
        spoken.clear()
        committer.tick()
        await spoken.wait()
    now = asyncio.get_running_loop().time()
    store.begin_checkpoint(ending.opened.recovered, recorder.next_sequence, now)
    spoken.clear()
    committer.tick()
    await spoken.wait()
    committer.journal_room.exported(recorder.next_sequence - 1)
    assert committer.checkpoints._finishing is not None
    await asyncio.wait([committer.checkpoints._finishing])
    assert store.has_droppable()
    committer.upkeep(1 << 30)
    await committer.drain()
    committer.tick()  # as the shell's last turn does
    store.close(clean=True)


def test_a_broker_that_stops_while_it_drops_exported_blobs_stops_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "DROP_FILES_MAX", 1)
    asyncio.run(_drop_while_draining(tmp_path))
    assert not (tmp_path / "broker.running").exists()


async def _turn_while_draining(data_dir: Path) -> None:
    turns = [1, 2, 3]

    def turn_of_the_event_loop() -> None:
        """It may come before the one who waits for the end of the batch."""
        if turns:
            recorder.observed(None, Observation.LIMIT_HIT, "max_retained", str(turns.pop()))
            committer.tick()
            recorder.observed(
                None, Observation.LIMIT_HIT, "max_retained", "for the batch behind it"
            )

    ending = Ending(data_dir, turn_of_the_event_loop)
    recorder, committer = ending.recorder, ending.committer
    recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
    await committer.drain()
    assert committer.failure is None
    ending.store.close(clean=True)


def test_a_turn_of_the_loop_amid_the_last_batches_does_not_spoil_a_clean_stop(
    tmp_path: Path,
) -> None:
    asyncio.run(_turn_while_draining(tmp_path))
    assert not (tmp_path / "broker.running").exists()


async def _tick_while_draining(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoken = asyncio.Event()
    ending = Ending(data_dir, spoken.set)
    store, committer = ending.store, ending.committer
    ending.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
    # It is always time for a checkpoint, and the second's tick comes when one has just finished.
    monkeypatch.setattr(store, "wants_checkpoint", lambda *_: store._checkpoint is None)
    committer.upkeep(1 << 30)
    await spoken.wait()
    assert committer.checkpoints._finishing is not None
    committer.checkpoints._finishing.add_done_callback(lambda _: committer.upkeep(1 << 30))
    await committer.drain()
    assert committer.failure is None
    store.close(clean=True)


def test_a_tick_amid_the_last_checkpoint_begins_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_tick_while_draining(tmp_path, monkeypatch))
    assert not (tmp_path / "broker.running").exists()


async def _serve_with_a_mistake(configuration: Configuration) -> None:
    loop = asyncio.get_running_loop()

    def mistake() -> None:
        raise AssertionError("PUBREL 17 while there is no session 17")

    def ready() -> None:
        loop.call_soon(mistake)

    async with asyncio.timeout(DEADLINE_SECONDS):
        await serve(configuration, asyncio.Event(), ready)


def test_a_mistake_of_our_own_ends_the_process_and_does_not_count_as_a_clean_stop(
    tmp_path: Path,
) -> None:
    configuration = Configuration(gateway=Gateway(data_dir=tmp_path), listeners=(Listener(port=0),))
    with pytest.raises(StoreFailed, match="no session 17"):
        asyncio.run(_serve_with_a_mistake(configuration))
    assert (tmp_path / "broker.running").exists()
