"""An upload target on a disk that is mounted, removed, and mounted again."""

import asyncio
import logging
from pathlib import Path

import pytest

from gateway.uploader.segments.names import segments_in
from gateway.uploader.upload.targets import MARKER_NAME
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.uploader.journals import Broker, MemoryJournal
from tests.uploader.stage import Stage, settings_in, until


@pytest.fixture
def cabinet(disk: MountedDisk, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A gateway whose data directory is on the disk that holds the mount point of the target."""
    monkeypatch.setattr("gateway.uploader.upload.uploader.UPLOAD_RETRY_SECONDS", (0.02, 0.05))
    data = disk.directory / "gateway"
    data.mkdir()
    stage = Stage(settings_in(data), MemoryJournal())
    stage.with_settings(target=disk.folder.as_uri(), seal_after_seconds=0.01)
    return stage


def places(stage: Stage, disk: MountedDisk) -> tuple[int, int]:
    """Return the numbers of sealed segments and of segments in the mount point's folder."""
    sealed = stage.log_dir / "sealed"
    return len(segments_in(sealed)) if sealed.is_dir() else 0, len(segments_in(disk.folder))


@pytest.mark.parametrize("below", ["", "logs"])
async def test_a_disk_that_is_not_mounted_is_waited_for_and_nothing_counts_as_uploaded(
    cabinet: Stage, disk: MountedDisk, caplog: pytest.LogCaptureFixture, below: str
) -> None:
    caplog.set_level(logging.INFO)
    cabinet.with_settings(target=(disk.folder / below).as_uri())
    broker = Broker()
    cabinet.journal.blobs.append(broker.exchanges(3))
    async with cabinet.running():
        await until(lambda: "uploading the session log fails" in caplog.text)
        assert f"{disk.folder / below} is on the gateway's own disk" in caplog.text
        assert list(disk.folder.iterdir()) == []
        await asyncio.to_thread(disk.switch_on)
        await until(lambda: len(list(disk.folder.rglob("*.zst"))) == 1)
    assert places(cabinet, disk)[0] == 0
    assert caplog.text.count("uploading the session log fails") == 1


async def test_a_disk_that_is_taken_away_while_the_gateway_runs_is_waited_for(
    cabinet: Stage, disk: MountedDisk, caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread(disk.switch_on)
    broker = Broker()
    async with cabinet.running():
        cabinet.journal.blobs = [broker.exchanges(3)]
        await until(lambda: places(cabinet, disk) == (0, 1))
        await asyncio.to_thread(disk.cut, "pulled out")
        cabinet.journal.blobs = [broker.exchanges(3)]
        await until(lambda: "is on the gateway's own disk" in caplog.text)
        assert places(cabinet, disk) == (1, 0)
        await asyncio.to_thread(disk.switch_on)
        await until(lambda: places(cabinet, disk) == (0, 2))


async def test_a_directory_of_the_own_disk_is_taken_where_its_operator_allows_it(
    cabinet: Stage, disk: MountedDisk
) -> None:
    (disk.folder / MARKER_NAME).touch()
    cabinet.journal.blobs.append(Broker().exchanges(3))
    await cabinet.run_once()
    assert places(cabinet, disk) == (0, 1)


async def test_the_default_target_and_others_in_the_data_directory_need_no_word(
    tmp_path: Path,
) -> None:
    stage = Stage(settings_in(tmp_path), MemoryJournal())
    stage.journal.blobs.append(Broker().exchanges(3))
    await stage.run_once()
    assert len(stage.uploaded()) == 1
