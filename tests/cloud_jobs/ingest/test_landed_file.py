"""A landed file is named without its folders."""

from __future__ import annotations

from cloud_jobs.ingest.landed_file import name_of


def test_a_file_is_named_without_its_folders() -> None:
    assert name_of("s3a://bucket/gw/a b.zst") == "a b.zst"
    assert name_of("a.zst") == "a.zst"
