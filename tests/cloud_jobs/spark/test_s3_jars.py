"""Each jar for the object store is pinned, and none of them is one of PySpark's own."""

from __future__ import annotations

from cloud_jobs.spark.s3_jars import JARS


def test_every_jar_has_a_version_and_a_sha256() -> None:
    versions = ("-2.35.4.jar", "-3.5.0.jar", "-1.3.1.jar", "-1.0.4.jar", "-1.0.1.jar")
    for name, sha256 in JARS.items():
        assert name.endswith(versions), name
        assert len(bytes.fromhex(sha256)) == 32
    assert not any(group in name for name in JARS for group in ("netty_", "slf4j", "bundle"))
