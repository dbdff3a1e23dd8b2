from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.session_log.segments.names import segments_in
from gateway.session_log.upload.object_store import ObjectStoreTarget
from gateway.session_log.upload.redaction import shown_error, shown_target
from gateway.session_log.upload.target_error import TargetError
from gateway.session_log.upload.targets import DirectoryTarget, target_of
from tests.session_log.bucket import SECRET, Bucket, served_bucket
from tests.session_log.journals import Broker
from tests.session_log.stage import Stage, until


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with served_bucket(monkeypatch) as bucket:
        yield bucket


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


async def test_a_directory_target_that_has_the_segment_already_keeps_it(tmp_path: Path) -> None:
    target = DirectoryTarget(tmp_path / "uploaded", tmp_path)
    await target.put("a.jsonl.zst", b"whole")
    before = (tmp_path / "uploaded" / "a.jsonl.zst").stat()
    await target.put("a.jsonl.zst", b"whole")
    after = (tmp_path / "uploaded" / "a.jsonl.zst").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


async def test_a_directory_target_replaces_what_a_crash_left_there(tmp_path: Path) -> None:
    (tmp_path / "uploaded").mkdir()
    (tmp_path / "uploaded" / "a.jsonl.zst").write_bytes(b"who")
    (tmp_path / "uploaded" / ".a.jsonl.zst.partial").write_bytes(b"wh")
    await DirectoryTarget(tmp_path / "uploaded", tmp_path).put("a.jsonl.zst", b"whole")
    assert [path.name for path in (tmp_path / "uploaded").iterdir()] == ["a.jsonl.zst"]
    assert (tmp_path / "uploaded" / "a.jsonl.zst").read_bytes() == b"whole"


async def test_a_disk_that_is_not_mounted_is_not_replaced_by_a_directory(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="mount the disk"):
        await DirectoryTarget(tmp_path / "usb" / "logs", tmp_path).put("a.jsonl.zst", b"whole")
    assert not (tmp_path / "usb").exists()


async def test_a_target_that_comes_back_gets_everything_and_the_log_says_it_once_each_way(
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


async def test_a_segment_that_is_set_aside_between_listing_and_reading_is_no_trouble(
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


async def test_other_bytes_of_the_same_size_in_the_bucket_are_replaced(bucket: Bucket) -> None:
    bucket.objects["/logs/a.jsonl.zst"] = b"WHOLE"
    await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
    assert bucket.objects["/logs/a.jsonl.zst"] == b"whole"


async def test_a_bucket_that_kept_less_than_it_was_sent_is_a_failure(bucket: Bucket) -> None:
    bucket.cut_put = True
    with pytest.raises(TargetError, match="4 bytes at the target, 5 were sent"):
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")


async def test_a_store_whose_etag_is_no_md5_is_asked_for_the_size(bucket: Bucket) -> None:
    bucket.is_md5_etag = False
    await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
    assert [method for method, _ in bucket.requests] == ["HEAD", "PUT", "HEAD"]


@pytest.mark.parametrize("is_md5_etag", [True, False])
async def test_a_device_that_may_write_but_not_look_can_upload(
    bucket: Bucket, is_md5_etag: bool
) -> None:
    bucket.refuse_look_with = 403
    bucket.is_md5_etag = is_md5_etag
    await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
    assert bucket.objects["/logs/a.jsonl.zst"] == b"whole"


async def test_a_refusal_of_the_bucket_is_told_without_its_secrets(bucket: Bucket) -> None:
    bucket.refuse_put_with = 403
    with pytest.raises(TargetError) as refusal:
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
    assert "403" in str(refusal.value) or "permission" in str(refusal.value).lower()
    assert SECRET not in str(refusal.value)
    assert len(str(refusal.value)) < 400


async def test_a_plain_http_server_takes_segments(bucket: Bucket) -> None:
    await target_of(f"http://127.0.0.1:{bucket.port}/logs", Path("/")).put("a.jsonl.zst", b"whole")
    assert bucket.objects["/logs/a.jsonl.zst"] == b"whole"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory:///", "scheme 'memory' is not known"),
        ("/var/uploaded", "scheme '' is not known"),
        ("file://server/share", "write file:///absolute/directory"),
        ("ftp://user:secret@host/x", "ftp://host/x"),
    ],
)
def test_a_target_that_cannot_be_one_is_refused_with_the_mend(url: str, message: str) -> None:
    with pytest.raises(TargetError, match=message) as refusal:
        target_of(url, Path("/"))
    assert "secret" not in str(refusal.value)


def test_a_target_is_shown_without_user_password_and_query() -> None:
    url = "https://user:secret@host:8443/logs?sig=abc#part"
    assert shown_target(url) == "https://host:8443/logs"


@pytest.mark.parametrize(
    "text",
    [
        "error sending request for url (https://h/c/x?sv=2024&sig=SECRET%3D&se=1): timeout",
        "https://user:SECRET@host/path refused",
        "Authorization: Bearer SECRET",
        'X-Amz-Signature="SECRET" X-Amz-Credential=SECRET',
        "<Token>x</Token> token=SECRET",
    ],
)
def test_an_error_is_shown_without_what_opens_a_door(text: str) -> None:
    shown = shown_error(ValueError(text))
    assert "SECRET" not in shown
    assert shown


def test_an_error_is_one_line_and_short() -> None:
    shown = shown_error(ValueError("first\nsecond " + "x" * 10_000))
    assert shown.startswith("first second xxx")
    assert len(shown) < 320
