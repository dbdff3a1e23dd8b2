from __future__ import annotations

import logging

import pytest

from gateway.session_log.segments.names import segments_in
from tests.session_log.bucket import Bucket
from tests.session_log.journals import Broker
from tests.session_log.stage import Stage, until


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
    # What a listing has of a file that is moved away before it is opened.
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
