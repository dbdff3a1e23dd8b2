from __future__ import annotations

import pytest

from gateway.session_log.upload.object_store import ObjectStoreTarget
from gateway.session_log.upload.target_error import TargetError
from tests.session_log.bucket import SECRET, Bucket


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


async def test_a_refusal_of_the_bucket_is_shown_without_its_secrets(bucket: Bucket) -> None:
    bucket.refuse_put_with = 403
    with pytest.raises(TargetError) as refusal:
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
    assert "403" in str(refusal.value) or "permission" in str(refusal.value).lower()
    assert SECRET not in str(refusal.value)
    assert len(str(refusal.value)) < 400
