from __future__ import annotations

import pytest

from gateway.uploader.upload.object_store import ObjectStoreTarget
from gateway.uploader.upload.target_error import TargetError
from tests.uploader.bucket import SECRET, Bucket


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


def error(code: str, message: str) -> bytes:
    return f"<?xml version='1.0'?>\n<Error><Code>{code}</Code><Message>{message}</Message>".encode()


HTML = b"<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>nginx</body></html>"
JSON = b'{"error": {"code": 403, "message": "no storage.objects.create access"}}'


@pytest.mark.parametrize(
    ("status", "answer", "shown"),
    [
        (403, error("AccessDenied", "Access &quot;Denied&quot;."), 'AccessDenied: Access "Denied"'),
        (404, error("NoSuchBucket", "no such bucket"), "404 Not Found: NoSuchBucket: no such"),
        (400, error("QuotaExceeded", "the bucket is full"), "QuotaExceeded: the bucket is full"),
        (403, JSON, "403: no storage.objects.create access"),
        (400, HTML, "400 Bad Request: Bad gateway nginx"),
        (400, b"", "400 Bad Request: it gives no reason"),
        (400, b"<Code>" * 1_000, "400 Bad Request: it gives no reason"),
        (400, b"x" * 2_000_000, "400 Bad Request: xxx"),
    ],
)
async def test_the_store_s_own_code_and_message_are_in_the_error_however_long_the_name_is(
    bucket: Bucket, status: int, answer: bytes, shown: str
) -> None:
    bucket.refuse_put_with, bucket.refusal = status, answer
    bucket.refuse_look_with = status if status != 404 else None
    with pytest.raises(TargetError) as refusal:
        await ObjectStoreTarget(f"s3://logs/{'p' * 200}").put(f"{'n' * 200}.zst", b"whole")
    assert f"the store refused PUT with {status}" in str(refusal.value)
    assert shown in str(refusal.value)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "answer",
    [
        error("RequestTimeTooSkewed", "The difference between the request time and now."),
        error("AuthenticationFailed", "Request date header too old: Thu, 01 Jan 1970"),
    ],
)
async def test_a_clock_that_the_store_refuses_is_named_with_the_fix(
    bucket: Bucket, answer: bytes
) -> None:
    bucket.refuse_put_with, bucket.refusal, bucket.refuse_look_with = 403, answer, 403
    with pytest.raises(TargetError, match=r"clock of this gateway is wrong: it shows 20.*timedate"):
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")


async def test_a_new_reason_of_the_store_is_another_kind_of_failure(bucket: Bucket) -> None:
    kinds = set()
    for code in ("AccessDenied", "RequestTimeTooSkewed", "AccessDenied"):
        bucket.refuse_put_with, bucket.refusal = 403, error(code, "no")
        with pytest.raises(TargetError) as refusal:
            await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
        kinds.add(refusal.value.kind)
    assert len(kinds) == 2


async def test_the_checksum_header_can_be_left_out_and_its_refusal_names_the_key(
    bucket: Bucket,
) -> None:
    for checksum_header in (True, False):
        target = ObjectStoreTarget("s3://logs", checksum_header=checksum_header)
        await target.put(f"{checksum_header}.jsonl.zst", b"whole")
    with_header, without = bucket.checksums
    assert with_header is not None
    assert without is None
    bucket.refuse_put_with = 501
    bucket.refusal = error("NotImplemented", "A header you provided implies functionality that is")
    with pytest.raises(TargetError, match="checksum_header = false"):
        await ObjectStoreTarget("s3://logs").put("b.jsonl.zst", b"whole")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:1", "Connection refused"),
        ("https://127.0.0.1:1", "Connection refused"),
        ("minio.example:9000", r"the store's address is no URL.*Check AWS_ENDPOINT_URL"),
    ],
)
async def test_an_address_at_which_no_store_is_found_is_a_failure_with_its_cause(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, address: str, shown: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    with pytest.raises(TargetError, match=shown):
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")


async def test_a_value_at_which_the_library_panics_is_refused_without_a_stack_trace(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "minio.example:9000")
    with pytest.raises(TargetError, match="AWS_ENDPOINT_URL"):
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
    assert "panicked" not in capfd.readouterr().err


async def test_an_address_without_tls_that_is_not_allowed_names_the_variable(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(TargetError, match=r"without TLS.*AWS_ALLOW_HTTP=true"):
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")


async def test_an_address_with_tls_of_a_store_without_it_is_named(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{bucket.port}")
    with pytest.raises(TargetError, match="with TLS, but the store answers without"):
        await ObjectStoreTarget("s3://logs").put("a.jsonl.zst", b"whole")
