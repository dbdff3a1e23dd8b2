"""Sealed segments that cannot be read from the disk, for a while or permanently."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from gateway.uploader.segments import chain
from gateway.uploader.segments.chain import Chain
from gateway.uploader.segments.names import segments_in
from gateway.uploader.settings import CHAIN_TRIES_MAX, DAMAGED_FILES_MAX
from gateway.uploader.upload import uploader
from tests.uploader.journals import Broker
from tests.uploader.stage import Stage, until

SEGMENTS = 44


class BadMedium:
    """A disk with files that cannot be read, wherever they are moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._bad: set[int] = set()
        self._open = Path.open
        self.reads = 0

        def opened(path: Path, *arguments: Any, **named: Any) -> Any:
            file = self._open(path, *arguments, **named)
            if os.fstat(file.fileno()).st_ino in self._bad:
                file.close()
                self.reads += 1
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return file

        monkeypatch.setattr(Path, "open", opened)

    def fail(self, *paths: Path) -> None:
        self._bad.update(path.stat().st_ino for path in paths)

    def heal(self, *paths: Path) -> None:
        """Make these files readable again, wherever in the log they are."""
        names = {path.name for path in paths}
        found = (path for path in paths[0].parents[1].rglob("*.zst") if path.name in names)
        self._bad.difference_update(path.stat().st_ino for path in found)


@pytest.fixture
def medium(monkeypatch: pytest.MonkeyPatch) -> BadMedium:
    return BadMedium(monkeypatch)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploader, "DAMAGED_RETRY_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(uploader, "UPLOAD_RESCAN_SECONDS", 0.02)


async def with_sealed(stage: Stage, count: int) -> list[Path]:
    """Seal `count` segments while the target is absent, and return their paths."""
    stage.with_settings(target=(stage.settings.data_dir / "usb" / "logs").as_uri())
    broker = Broker()
    for _ in range(count):
        stage.journal.blobs.append(broker.exchanges(1))
        await stage.run_once()
    (stage.settings.data_dir / "usb").mkdir()
    found = sorted((stage.log_dir / "sealed").iterdir(), key=lambda path: path.name.split(".")[2])
    assert len(found) == count
    return found


def counts(stage: Stage) -> tuple[int, int, int]:
    """Return the numbers of segments that are sealed, set aside and uploaded."""
    arrived = stage.settings.data_dir / "usb" / "logs"
    directories = (stage.log_dir / "sealed", stage.log_dir / "damaged", arrived)
    found = [len(segments_in(each)) if each.is_dir() else 0 for each in directories]
    return found[0], found[1], found[2]


async def test_segments_that_cannot_be_read_are_all_kept_and_the_others_are_uploaded(
    stage: Stage, medium: BadMedium
) -> None:
    sealed = await with_sealed(stage, SEGMENTS + 1)
    medium.fail(*sealed[:-1])
    await stage.run_once()
    assert SEGMENTS > DAMAGED_FILES_MAX
    assert counts(stage) == (0, SEGMENTS, 1)


@pytest.mark.usefixtures("quickly")
async def test_segments_come_back_and_arrive_when_they_can_be_read_again(
    stage: Stage, medium: BadMedium
) -> None:
    sealed = await with_sealed(stage, 4)
    medium.fail(*sealed[:3])
    async with stage.running():
        await until(lambda: counts(stage) == (0, 3, 1))
        medium.heal(*sealed[:2])
        await until(lambda: counts(stage) == (0, 1, 3))
        medium.heal(sealed[2])
        await until(lambda: counts(stage) == (0, 0, 4))


async def test_a_start_tries_again_what_an_earlier_run_set_aside(
    stage: Stage, medium: BadMedium
) -> None:
    sealed = await with_sealed(stage, 3)
    medium.fail(*sealed[:2])
    await stage.run_once()
    assert counts(stage) == (0, 2, 1)
    medium.heal(*sealed)
    await stage.run_once()
    assert counts(stage) == (0, 0, 3)


@pytest.mark.usefixtures("quickly")
async def test_the_log_names_an_unreadable_segment_once_and_the_status_as_long_as_it_waits(
    stage: Stage, medium: BadMedium, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sealed = await with_sealed(stage, 2)
    medium.fail(sealed[0])
    caplog.clear()
    async with stage.running():
        await until(lambda: medium.reads > 10)
        medium.heal(sealed[0])
        await until(lambda: counts(stage) == (0, 0, 2))
    text = caplog.text
    assert text.count(f"{sealed[0].name} cannot be read, waits in log/damaged") == 1
    assert text.count("reading sealed segments works again") == 1
    assert "uploading the session log fails" not in text


async def test_the_status_names_what_waits_in_log_damaged(stage: Stage, medium: BadMedium) -> None:
    sealed = await with_sealed(stage, 6)
    medium.fail(*sealed[:5])
    stage.settings.data_dir.joinpath("usb", "logs").mkdir()
    one = uploader.Uploader(stage.settings)
    stop = asyncio.Event()
    task = asyncio.create_task(one.run(stop))
    await until(lambda: counts(stage) == (0, 5, 1))
    sentence = one.unreadable.sentence
    assert sentence is not None
    assert sentence.startswith("5 segments in log/damaged were not uploaded")
    assert sentence.endswith(" and 2 more")
    stop.set()
    await task


async def test_the_newest_segment_that_cannot_be_read_is_exported_again_and_kept(
    stage: Stage, medium: BadMedium
) -> None:
    sealed = await with_sealed(stage, 3)
    medium.fail(sealed[-1])
    await stage.run_once()
    assert counts(stage) == (0, 1, 3)
    medium.heal(sealed[-1])
    await stage.run_once()
    assert counts(stage) == (0, 0, 3)


async def test_a_segment_whose_events_were_exported_again_in_a_longer_one_does_not_come_back(
    stage: Stage, medium: BadMedium
) -> None:
    sealed = await with_sealed(stage, 3)
    medium.fail(sealed[-1])
    stage.journal.blobs.append(Broker(after=15).exchanges(1))
    await stage.run_once()
    medium.heal(sealed[-1])
    await stage.run_once()
    assert counts(stage) == (0, 0, 3)
    arrived = segments_in(stage.settings.data_dir / "usb" / "logs")
    assert [name.segment for name in arrived] == [1, 2, 3]
    assert str(arrived[-1]) != sealed[-1].name
    assert (stage.log_dir / "damaged" / f"{sealed[-1].name}.exported-again").exists()


async def test_a_chain_that_cannot_be_read_for_a_while_is_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_sealed(stage, 2)
    read_bytes = Path.read_bytes

    def failing(path: Path) -> bytes:
        if path.name == "chain.json":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return read_bytes(path)

    state = chain.Chain(stage.log_dir, "gw-1")
    monkeypatch.setattr(Path, "read_bytes", failing)
    for _ in range(CHAIN_TRIES_MAX - 1):
        with pytest.raises(OSError, match="Input/output"):
            state.load()
    assert (stage.log_dir / "chain.json").exists()
    state.load()
    assert (stage.log_dir / "damaged" / "chain.json").exists()
    assert state.next_segment == 3
    monkeypatch.undo()
    again = Chain(stage.log_dir, "gw-1")
    again.load()
    assert again.next_segment == 3
