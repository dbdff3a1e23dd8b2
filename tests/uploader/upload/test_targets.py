from __future__ import annotations

from pathlib import Path

import pytest

from gateway.uploader.upload.target_error import TargetError
from gateway.uploader.upload.targets import DirectoryTarget, target_of
from tests.uploader.bucket import Bucket


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


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory:///", "scheme 'memory' is not known"),
        ("/var/uploaded", "scheme '' is not known"),
        ("file://server/share", "write file:///absolute/directory"),
        ("ftp://user:secret@host/x", "ftp://host/x"),
    ],
)
def test_a_target_that_cannot_be_one_is_refused_with_the_fix(url: str, message: str) -> None:
    with pytest.raises(TargetError, match=message) as refusal:
        target_of(url, Path("/"))
    assert "secret" not in str(refusal.value)


async def test_a_plain_http_server_takes_segments(bucket: Bucket) -> None:
    await target_of(f"http://127.0.0.1:{bucket.port}/logs", Path("/")).put("a.jsonl.zst", b"whole")
    assert bucket.objects["/logs/a.jsonl.zst"] == b"whole"
