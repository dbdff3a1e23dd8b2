"""Clock changes that a running broker records, and gateway time after a restart."""

import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records.events import Event, JournalBatch, decode
from gateway.broker.server.event_loop.clock_watch import CLOCK_READ_SECONDS
from gateway.broker.server.host import clock
from gateway.broker.store.journal_reader import JournalReader
from tests.broker.server.broker import running

HOUR_MS = 3_600_000


broker_on = asynccontextmanager(running)
"""Run a broker from its start to its clean stop."""


def batches_of(data_dir: Path) -> list[JournalBatch]:
    return [decode(blob) for blob in JournalReader(data_dir).blobs_after(0, 1 << 20)]


def events_of(data_dir: Path, name: str) -> list[Event]:
    found = [event for batch in batches_of(data_dir) for event in batch.events]
    return [event for event in found if event["event"] == name]


@pytest.fixture
def quality(monkeypatch: pytest.MonkeyPatch) -> list[ClockQuality]:
    """Return a list with the clock's quality as the kernel reports it; a test may change it."""
    said = [ClockQuality.UNSYNCHRONISED]
    monkeypatch.setattr(clock, "quality", lambda: said[0])
    return said


async def test_a_clock_that_is_synchronised_later_is_written_down_with_that_batch(
    tmp_path: Path, quality: list[ClockQuality]
) -> None:
    async with broker_on(tmp_path, [{}], {}) as broker:
        assert broker.status()["clock"] == "unsynchronised"
        broker.running.event_loop.upkeep()
        assert not events_of(tmp_path, "clock_read")
        quality[0] = ClockQuality.SYNCHRONISED
        broker.running.event_loop.upkeep()
        broker.running.event_loop.upkeep()
        assert broker.status()["clock"] == "synchronised"
        await broker.eventually(lambda: bool(events_of(tmp_path, "clock_read")))
        assert events_of(tmp_path, "clock_read") == [
            {"event": "clock_read", "detail": "synchronised"}
        ]
        assert batches_of(tmp_path)[-1].clock == "synchronised"
        time = broker.running.event_loop.broker.state.time
        assert time.offset_ms is not None


async def test_after_an_hour_without_a_batch_the_time_is_written_down(
    tmp_path: Path, quality: list[ClockQuality], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with broker_on(tmp_path, [{}], {}) as broker:
        await broker.eventually(lambda: bool(events_of(tmp_path, "broker_started")))
        broker.running.event_loop.committer.writer.sealed_at -= CLOCK_READ_SECONDS
        broker.running.event_loop.upkeep()
        await broker.eventually(lambda: bool(events_of(tmp_path, "clock_read")))
        assert events_of(tmp_path, "clock_read")[0]["detail"] == ClockQuality.UNSYNCHRONISED.word


async def test_written_time_goes_on_where_it_was_after_a_restart_with_a_clock_in_the_past(
    tmp_path: Path, quality: list[ClockQuality], monkeypatch: pytest.MonkeyPatch
) -> None:
    time_ns = time.time_ns
    async with broker_on(tmp_path, [{}], {}):
        pass
    before = batches_of(tmp_path)[-1]
    monkeypatch.setattr(time, "time_ns", lambda: time_ns() - 500 * 24 * HOUR_MS * clock.NS_PER_MS)
    async with broker_on(tmp_path, [{}], {}):
        pass
    after = next(each for each in batches_of(tmp_path) if each.boot != before.boot)
    assert before.time_ms <= after.time_ms < before.time_ms + HOUR_MS
    assert after.clock == "unsynchronised"
