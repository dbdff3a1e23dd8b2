"""A directory and an object store answer alike, and settings that are not known are Spark's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cloud_jobs.settings import IngestSettings
from cloud_jobs.stores import LocalStore, S3Store, s3_options, store_of
from cloud_jobs.unchanged import forget, landing_of, remember, report_if_unchanged
from tests.cli.reports import REPORT
from tests.cloud_jobs.object_store.server import BUCKET, Store, object_store
from tests.cloud_jobs.test_unchanged import REFUSED

SOURCE, TABLES = f"s3a://{BUCKET}/landed/", f"s3a://{BUCKET}/tables"
SETTINGS = IngestSettings(source=SOURCE, tables=TABLES)
LOG = "tables/segments/_delta_log"


def arguments(**settings: str) -> dict[str, str]:
    words = [f"--conf spark.hadoop.fs.s3a.{name}={value}" for name, value in settings.items()]
    return {"PYSPARK_SUBMIT_ARGS": " ".join([*words, "pyspark-shell"])}


def test_hadoop_s_settings_are_arrow_s_options() -> None:
    found = s3_options(
        arguments(
            **{
                "endpoint": "http://127.0.0.1:9",
                "path.style.access": "true",
                "access.key": "a",
                "secret.key": "b",
                "connection.ssl.enabled": "false",
                "attempts.maximum": "3",
            }
        )
    )
    assert found == {
        "endpoint_override": "http://127.0.0.1:9",
        "force_virtual_addressing": False,
        "access_key": "a",
        "secret_key": "b",
        "scheme": "http",
        "region": "us-east-1",
    }


@pytest.mark.parametrize(
    ("place", "environment"),
    [
        ("gs://bucket/x", {}),
        ("s3a://bucket/x", {"SPARK_REMOTE": "sc://host"}),
        ("s3a://bucket/x", {"PYSPARK_GATEWAY_PORT": "1"}),
        ("s3a://bucket/x", arguments(**{"aws.credentials.provider": "a.Class"})),
        ("s3a://bucket/x", arguments(**{"bucket.bucket.endpoint": "http://x"})),
    ],
)
def test_what_only_spark_knows_has_no_store(place: str, environment: dict[str, str]) -> None:
    assert store_of(place, environment) is None


def test_a_directory_has_its_newest_commits_and_files(tmp_path: Path) -> None:
    store = store_of(str(tmp_path))
    assert isinstance(store, LocalStore)
    log = tmp_path / "segments" / "_delta_log"
    log.mkdir(parents=True)
    for name in (f"{3:020}.json", f"{12:020}.json", "_last_checkpoint"):
        (log / name).touch()
    assert store.commits() == {"segments": f"{12:020}.json"}
    assert store.files() is not None
    store.write("x", b"12345")
    assert store.read("x", 2) == (5, b"123")
    store.remove("x")
    store.remove("x")
    assert not store.has_begun()


def note() -> None:
    landing = landing_of(SETTINGS)
    assert landing is not None
    assert {"good.zst", "bad.zst"} <= landing.segment_names
    remember(SETTINGS, landing, REFUSED, REPORT)


def mend(_: Store) -> None:
    landed = store_of(SOURCE)
    assert landed is not None
    landed.write("bad.zst", b"abd")


CHANGES: dict[str, Callable[[Store], None]] = {
    "a segment lands": lambda store: store.put("landed/gw/new.zst", b"new"),
    "a table is written": lambda store: store.put(f"{LOG}/{4:020}.json", b"{}"),
    "a table is added": lambda store: store.put(f"tables/events/_delta_log/{0:020}.json", b"{}"),
    "a run begins": lambda _: forget(SETTINGS),
    "the store fails": lambda store: setattr(store, "fail_every", 1),
    "it is there again and a refused file is mended": mend,
}


@pytest.mark.long
def test_a_bucket_in_which_nothing_has_changed_is_known_and_one_with_a_change_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with object_store() as store:
        words = [f"--conf {key}={value}" for key, value in store.spark_settings.items()]
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", " ".join([*words, "pyspark-shell"]))
        store.put("landed/gw/good.zst", b"good")
        store.put("landed/bad.zst", b"abc")
        for number in range(4):
            store.put(f"{LOG}/{number:020}.json", b"{}")
        assert isinstance(store_of(TABLES), S3Store)
        for what, change in CHANGES.items():
            store.fail_every = 0
            note()
            report = report_if_unchanged(SETTINGS)
            assert report is not None, what
            assert (report.batches, report.segments_ingested) == (0, 0)
            change(store)
            assert report_if_unchanged(SETTINGS) is None, what
