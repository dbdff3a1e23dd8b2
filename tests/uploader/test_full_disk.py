"""A disk that is really full: a small tmpfs, for which root is needed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.uploader.segments.names import segments_in
from gateway.uploader.segments.verify import load_segment
from gateway.uploader.upload.targets import MARKER_NAME
from tests.small_disk import small_disk as mounted
from tests.uploader.journals import Broker, MemoryJournal
from tests.uploader.stage import Stage, settings_in, until

DISK_BYTES = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", DISK_BYTES) as disk:
        yield disk.folder


def incompressible(broker: Broker) -> bytes:
    """Return a batch whose segment takes a third of the disk."""
    return broker.exchanges(1, payload=os.urandom(DISK_BYTES // 4))


def last_uploaded(directory: Path) -> int:
    """Return the last sequence number that arrived, or 0 if none did."""
    if not (directory / "uploaded").is_dir():
        return 0
    return max((name.last_sequence for name in segments_in(directory / "uploaded")), default=0)


def say_that_it_is_meant(directory: Path) -> None:
    """Create the marker that allows uploads to this directory, even on the system's disk."""
    directory.mkdir()
    (directory / MARKER_NAME).touch()


async def test_a_full_disk_stops_the_log_with_a_clear_word_and_it_continues_when_there_is_room(
    small_disk: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stage = Stage(settings_in(small_disk), MemoryJournal())
    say_that_it_is_meant(tmp_path / "uploaded")
    stage.with_settings(seal_after_seconds=0.01, target=(tmp_path / "uploaded").as_uri())
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (DISK_BYTES - 200_000))
    broker = Broker()
    stage.journal.blobs = [incompressible(broker)]
    async with stage.running() as process:
        await until(lambda: "No space left on device" in caplog.text)
        assert "free space or make the partition larger" in caplog.text
        assert not process.done()
        ballast.unlink()
        await until(lambda: len(segments_in(small_disk / "log" / "sent")) == 1)
    assert caplog.text.count("exporting the session log fails") == 1
    assert caplog.text.count("exporting the session log works again") == 1
    assert [name.last_sequence for name in segments_in(tmp_path / "uploaded")] == [5]


async def test_a_full_disk_gives_up_what_was_sent_before_it_stops_the_log(
    small_disk: Path, tmp_path: Path
) -> None:
    stage = Stage(settings_in(small_disk), MemoryJournal())
    say_that_it_is_meant(tmp_path / "uploaded")
    stage.with_settings(seal_after_seconds=0.01, target=(tmp_path / "uploaded").as_uri())
    broker = Broker()
    async with stage.running():
        for _ in range(8):
            stage.journal.blobs = [incompressible(broker)]
            await until(lambda: last_uploaded(tmp_path) == broker.last_sequence)
    uploaded = segments_in(tmp_path / "uploaded")
    assert [name.first_sequence for name in uploaded] == list(range(1, 41, 5))


async def test_with_a_target_on_the_same_disk_the_log_leaves_the_brokers_room_alone(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(settings_in(small_disk), MemoryJournal())
    say_that_it_is_meant(small_disk / "uploaded")
    stage.with_settings(free_bytes_min=DISK_BYTES, target=(small_disk / "uploaded").as_uri())
    stage.journal.blobs = [Broker().exchanges(1)]
    async with stage.running():
        await until(lambda: f"{DISK_BYTES} are kept free" in caplog.text)
    assert segments_in(small_disk / "log" / "sealed") == []


async def test_with_nothing_free_the_log_continues_to_a_target_elsewhere(tmp_path: Path) -> None:
    with mounted(tmp_path / "d", 16 << 20) as disk:
        stage = Stage(settings_in(disk.folder), MemoryJournal())
        say_that_it_is_meant(tmp_path / "uploaded")
        stage.with_settings(seal_after_seconds=0.01, target=(tmp_path / "uploaded").as_uri())
        broker = Broker()
        async with stage.running():
            stage.journal.blobs = [broker.exchanges(1)]
            await until(lambda: last_uploaded(tmp_path) == broker.last_sequence)
            disk.fill()
            for _ in range(10):
                stage.journal.blobs = [broker.exchanges(3)]
                await until(lambda: last_uploaded(tmp_path) == broker.last_sequence)
    firsts = [name.first_sequence for name in segments_in(tmp_path / "uploaded")]
    lasts = [name.last_sequence for name in segments_in(tmp_path / "uploaded")]
    assert firsts == [1, *(last + 1 for last in lasts[:-1])]


async def test_segments_that_the_broker_removed_for_lack_of_room_are_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(settings_in(tmp_path), MemoryJournal())
    target = tmp_path / "elsewhere" / "uploaded"
    stage.with_settings(seal_after_seconds=0.01, target=target.as_uri())
    broker = Broker()
    sealed = tmp_path / "log" / "sealed"
    sealed.mkdir(parents=True)
    async with stage.running():
        for _ in range(3):
            stage.journal.blobs = [broker.exchanges(1)]
            count = broker.last_sequence // 5
            await until(lambda: len(segments_in(sealed)) == count)  # noqa: B023 - awaited here
    for name in segments_in(sealed)[:2]:
        (sealed / str(name)).unlink()
    target.parent.mkdir()
    say_that_it_is_meant(target)
    async with stage.running():
        await until(lambda: last_uploaded(target.parent) == broker.last_sequence)
        stage.journal.blobs = [broker.exchanges(1)]
        await until(lambda: last_uploaded(target.parent) == broker.last_sequence)
    segments = [load_segment(target / str(name)) for name in segments_in(target)]
    assert [each.header["segment"] for each in segments] == [3, 4]
    assert segments[1].header["previous_sha256"] == segments_in(target)[0].sha256
    assert "No such file" not in caplog.text
