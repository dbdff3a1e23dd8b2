from __future__ import annotations

import asyncio
import logging
from functools import partial

import pytest

from gateway.uploader.segments.names import each_segment_in, path_of, segments_in
from gateway.uploader.upload.uploader import Uploader
from tests.process.files.listings import listings
from tests.process.files.many_segments import age, fill, name_of
from tests.uploader.bucket import Bucket
from tests.uploader.journals import Broker
from tests.uploader.stage import Stage, until


def sealed_and_sent(stage: Stage) -> tuple[int, int]:
    counts = [len(segments_in(stage.log_dir / part)) for part in ("sealed", "sent")]
    return counts[0], counts[1]


async def with_three_segments(stage: Stage) -> None:
    broker = Broker()
    for _ in range(3):
        stage.journal.blobs.append(broker.exchanges(20))
        await stage.run_once()


async def test_a_segment_is_in_its_directory_and_in_sent_and_nowhere_else(stage: Stage) -> None:
    await with_three_segments(stage)
    assert sealed_and_sent(stage) == (0, 3)
    files = sorted(stage.uploaded_dir.iterdir())
    assert len(files) == 3
    for path in files:
        assert path.read_bytes() == (stage.log_dir / "sent" / path.name).read_bytes()


async def test_sent_segments_are_removed_oldest_first_beyond_what_may_stay(stage: Stage) -> None:
    await with_three_segments(stage)
    sizes = [path.stat().st_size for path in sorted((stage.log_dir / "sent").iterdir())]
    stage.with_settings(sent_bytes_keep=sizes[1] + sizes[2])
    await stage.run_once()
    assert [name.segment for name in segments_in(stage.log_dir / "sent")] == [2, 3]
    assert len(stage.uploaded()) == 3


async def test_a_target_that_comes_back_gets_everything_and_each_change_is_logged_once(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stage.with_settings(target=(stage.settings.data_dir / "usb" / "logs").as_uri())
    await with_three_segments(stage)
    assert sealed_and_sent(stage) == (3, 0)
    caplog.clear()
    async with stage.running():
        await until(lambda: "uploading the session log fails" in caplog.text)
        (stage.settings.data_dir / "usb").mkdir()
        await until(lambda: sealed_and_sent(stage) == (0, 3))
    assert caplog.text.count("uploading the session log fails") == 1
    assert caplog.text.count("uploading the session log works again") == 1


async def test_a_damaged_segment_is_set_aside_and_does_not_hold_up_the_others(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.with_settings(target=(stage.settings.data_dir / "usb" / "logs").as_uri())
    await with_three_segments(stage)
    first = sorted((stage.log_dir / "sealed").iterdir())[0]
    data = bytearray(first.read_bytes())
    data[30] ^= 4
    first.write_bytes(data)
    (stage.settings.data_dir / "usb").mkdir()
    await stage.run_once()
    assert sealed_and_sent(stage) == (0, 2)
    assert (stage.log_dir / "damaged" / first.name).read_bytes() == data
    assert f"{first.name} cannot be read" in caplog.text


async def test_a_segment_that_is_set_aside_between_listing_and_reading_is_no_fault(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await with_three_segments(stage)
    newest = sorted((stage.log_dir / "sent").iterdir())[-1]
    # Like a file that is moved away after the listing and before it is opened.
    (stage.log_dir / "sealed" / newest.name).symlink_to("moved away")
    await stage.run_once()
    assert "fails" not in caplog.text


async def test_other_files_beside_the_segments_are_left_alone(stage: Stage) -> None:
    (stage.log_dir / "sealed").mkdir(parents=True)
    (stage.log_dir / "sealed" / "notes.txt").write_text("by hand")
    await with_three_segments(stage)
    assert (stage.log_dir / "sealed" / "notes.txt").read_text() == "by hand"
    assert sealed_and_sent(stage) == (0, 3)


async def test_a_bucket_gets_every_segment_once_under_its_prefix(
    stage: Stage, bucket: Bucket
) -> None:
    stage.with_settings(target="s3://logs/site-1")
    await with_three_segments(stage)
    assert sealed_and_sent(stage) == (0, 3)
    for path in (stage.log_dir / "sent").iterdir():
        assert bucket.objects[f"/logs/site-1/{path.name}"] == path.read_bytes()
    assert len(bucket.puts()) == 3


async def test_a_segment_that_the_bucket_has_is_not_sent_again(
    stage: Stage, bucket: Bucket
) -> None:
    stage.with_settings(target="s3://logs/site-1")
    await with_three_segments(stage)
    for path in list((stage.log_dir / "sent").iterdir()):
        path.rename(stage.log_dir / "sealed" / path.name)
    await stage.run_once()
    assert sealed_and_sent(stage) == (0, 3)
    assert len(bucket.puts()) == 3


def kept(stage: Stage) -> list[int]:
    return [name.segment for name in segments_in(stage.log_dir / "sent")]


async def test_no_more_sent_segments_stay_than_are_allowed_wherever_they_lie(stage: Stage) -> None:
    fill(stage.log_dir / "sent", range(10, 2_501, 10), flat=True)
    fill(stage.log_dir / "sent", range(2_510, 5_001, 10))
    stage.with_settings(sent_files_keep=151)
    stage.journal.blobs.append(Broker(after=50_000).exchanges(1))
    await stage.run_once()
    assert kept(stage) == [*range(3_510, 5_001, 10), 5_001]
    assert sorted(path.name for path in (stage.log_dir / "sent").iterdir()) == [
        "00003___", "00004___", "00005___",
    ]  # fmt: skip


async def test_with_months_of_sent_segments_a_new_one_costs_a_few_listings(
    stage: Stage,
) -> None:
    fill(stage.log_dir / "sent", range(100, 30_001, 100))
    age(stage.log_dir / "sent")
    broker = Broker(after=300_000)
    stage.with_settings(sent_files_keep=300, seal_after_seconds=0.01)
    async with stage.running():
        stage.journal.blobs.append(broker.exchanges(1))
        await until((stage.uploaded_dir / "00030___").is_dir)
        await until(lambda: sealed_now(stage) == 0)
        with listings() as listed:
            for number in (30_002, 30_003):
                stage.journal.blobs.append(broker.exchanges(1))
                await until(partial(is_sent, stage, number))
    old = {stage.log_dir / "sent" / f"{thousand:05d}___" for thousand in range(2, 30)}
    # The oldest segment is removed from the first subfolder.
    assert old.isdisjoint(listed)
    assert len(kept(stage)) == 300


async def test_of_thousands_of_sent_segments_a_hundredth_is_removed_at_a_time(stage: Stage) -> None:
    fill(stage.log_dir / "sent", range(1_001, 3_001))
    age(stage.log_dir / "sent")
    broker = Broker(after=30_000)
    stage.with_settings(sent_files_keep=2_000, seal_after_seconds=0.01)
    async with stage.running():
        stage.journal.blobs.append(broker.exchanges(1))
        await until(lambda: len(kept(stage)) == 1_980)
        assert kept(stage)[0] == 1_022, "the oldest are removed"
        age(stage.log_dir / "sent")
        stage.journal.blobs.append(broker.exchanges(1))
        await until(lambda: len(kept(stage)) == 1_981)
        # After the next segment is sent, the uploader has already checked its files once.
        stage.journal.blobs.append(broker.exchanges(1))
        await until(partial(is_sent, stage, 3_003))
        with listings() as listed:
            stage.journal.blobs.append(broker.exchanges(1))
            await until(partial(is_sent, stage, 3_004))
    assert stage.log_dir / "sent" / "00001___" not in listed


def sealed_now(stage: Stage) -> int:
    return sum(1 for _ in (stage.log_dir / "sealed").rglob("*.zst"))


def is_sent(stage: Stage, number: int) -> bool:
    folder = stage.log_dir / "sent" / f"{number // 1_000:05d}___"
    return any(folder.glob(f"*.{number:08d}.*"))


async def test_while_the_target_is_away_a_year_of_segments_is_counted_once(stage: Stage) -> None:
    fill(stage.log_dir / "sealed", range(100, 20_001, 100))
    age(stage.log_dir / "sealed")
    stage.with_settings(target=(stage.settings.data_dir / "away" / "x").as_uri())
    uploader = Uploader(stage.settings)
    stop = asyncio.Event()
    task = asyncio.create_task(uploader.run(stop))
    await until(lambda: uploader.fault.sentence is not None)
    assert uploader.sealed == {"count": 200, "bytes": 200}
    fill(stage.log_dir / "sealed", [20_001])
    with listings() as listed:
        uploader.wake()
        assert uploader.sealed["count"] == 201
        assert uploader.sealed["count"] == 201
    assert listed == [stage.log_dir / "sealed" / "00020___"]
    stop.set()
    await task


async def test_a_segment_of_any_number_is_damaged_and_comes_back_in_its_place(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stage.log_dir / "sent", [41_999])
    stage.with_settings(target=(stage.settings.data_dir / "away" / "x").as_uri())
    stage.journal.blobs.append(Broker(after=419_990).exchanges(1))
    await stage.run_once()
    (name,) = segments_in(stage.log_dir / "sealed")
    assert name.segment == 42_000
    path = path_of(stage.log_dir / "sealed", name)
    whole = path.read_bytes()
    (stage.settings.data_dir / "away").mkdir()
    path.write_bytes(b"damaged")
    uploader = Uploader(stage.settings)
    stop = asyncio.Event()
    task = asyncio.create_task(uploader.run(stop))
    await until(lambda: uploader.unreadable.sentence is not None)
    assert [each.segment for each in each_segment_in(stage.log_dir / "damaged")] == [42_000]
    stop.set()
    await task
    path_of(stage.log_dir / "damaged", name).write_bytes(whole)
    # The uploader tries it immediately at its next start.
    await stage.run_once()
    assert path_of(stage.settings.data_dir / "away" / "x", name).read_bytes() == whole
    assert path_of(stage.log_dir / "sent", name).read_bytes() == whole


async def test_a_lost_chain_is_made_again_from_the_newest_of_many_segments(stage: Stage) -> None:
    fill(stage.log_dir / "sent", range(100, 12_001, 100))
    age(stage.log_dir / "sent")
    stage.journal.blobs.append(Broker(after=120_000).exchanges(1))
    await stage.run_once()
    (new,) = segments_in(stage.uploaded_dir)
    assert (new.segment, new.first_sequence) == (12_001, 120_001)
    assert (stage.log_dir / "sent/00012___" / name_of(12_000)).exists()
