"""The jars are used if all of them have the right bytes; otherwise they are downloaded again."""

from __future__ import annotations

import hashlib
import queue
import threading
from pathlib import Path

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.spark import s3_jars
from cloud_jobs.spark.jars import (
    JARS,
    cache_directory,
    fetched_jars,
    jars_in,
    jars_or_download,
    needed_for,
)


def test_jars_are_used_only_when_all_are_there_with_the_right_bytes(
    tmp_path: Path,
) -> None:
    contents = {"a.jar": b"a", "b.jar": b"b"}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert fetched_jars(tmp_path, hashes) is None
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    assert fetched_jars(tmp_path, hashes) == [tmp_path / name for name in contents]
    (tmp_path / "other.jar").touch()
    assert jars_in(tmp_path, hashes) == [
        tmp_path / name for name in ("a.jar", "b.jar", "other.jar")
    ]
    (tmp_path / "b.jar").write_bytes(b"half")
    assert fetched_jars(tmp_path, hashes) is None
    with pytest.raises(IngestError, match=r"lacks these jars, or they are other ones: b\.jar;"):
        jars_in(tmp_path, hashes)


def test_an_object_store_s_jars_are_needed_only_where_its_url_is_used() -> None:
    assert needed_for(["/srv/landing", "file:///srv/tables"]).files == JARS
    needed = needed_for(["/srv/landing", "s3a://bucket/tables"])
    assert needed.files == JARS | s3_jars.JARS
    assert "org.apache.hadoop:hadoop-aws:3.5.0" in needed.packages
    assert "software.amazon.awssdk:bundle" in needed.excludes


def test_of_two_first_starts_together_one_fetches_and_the_other_waits_for_its_jars(
    tmp_path: Path,
) -> None:
    files = {"a.jar": hashlib.sha256(b"a").hexdigest()}
    jar = tmp_path / "jars" / "a.jar"
    found: queue.SimpleQueue[list[Path] | None] = queue.SimpleQueue()

    def start() -> None:
        with jars_or_download(tmp_path, files) as jars:
            found.put(jars)

    with jars_or_download(tmp_path, files) as jars:
        assert jars is None
        second = threading.Thread(target=start)
        second.start()
        with pytest.raises(queue.Empty):
            found.get(timeout=0.2)
        jar.parent.mkdir()
        jar.write_bytes(b"a")
        # A start needs no permission to use jars that have been downloaded.
        start()
        assert found.get() == [jar]
    second.join()
    assert found.get() == [jar]


def test_where_fetching_failed_the_next_start_may_try(tmp_path: Path) -> None:
    files = {"a.jar": "0" * 64}
    for _ in range(2):
        with jars_or_download(tmp_path, files) as jars:
            assert jars is None


def test_every_jar_has_a_version_and_a_sha256() -> None:
    for name, sha256 in JARS.items():
        assert name.endswith(("-4.4.0.jar", "-0.6.0.jar"))
        assert len(bytes.fromhex(sha256)) == 32


def test_the_cache_is_where_it_was_chosen_or_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_directory(tmp_path) == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory(None) == tmp_path / "oncegate" / "spark"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory(None) == tmp_path / ".cache" / "oncegate" / "spark"
