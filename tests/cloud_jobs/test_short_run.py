"""The runs for which the JVM is started with settings for little work."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from cloud_jobs.limits import EVENTS_SHORT_RUN_MAX, SHORT_RUN_BYTES_MAX
from cloud_jobs.settings import IngestSettings
from cloud_jobs.short_run import has_few_events, is_short, jvm_settings
from cloud_jobs.spark.java import OPTION

LAST_RUN = 1_790_000_000
LOG = "tables/batches/_delta_log"


@pytest.fixture
def settings(tmp_path: Path) -> IngestSettings:
    """A landing directory with many segments that have been ingested."""
    (tmp_path / "landed" / "gw").mkdir(parents=True)
    found = IngestSettings(source=str(tmp_path / "landed"), tables=str(tmp_path / "tables"))
    land(found, "old.zst", 2 * SHORT_RUN_BYTES_MAX, LAST_RUN - 1)
    log = tmp_path / LOG
    log.mkdir(parents=True)
    os.utime(log, (LAST_RUN, LAST_RUN))
    return found


def land(settings: IngestSettings, name: str, size: int, seconds: int = LAST_RUN + 1) -> None:
    path = Path(settings.source) / "gw" / name
    path.write_bytes(bytes(size))
    os.utime(path, (seconds, seconds))


def test_a_run_is_short_where_little_has_landed_since_the_last_one(
    settings: IngestSettings,
) -> None:
    assert is_short(settings)
    land(settings, "new.zst", SHORT_RUN_BYTES_MAX)
    assert is_short(settings)
    assert "TieredStopAtLevel=1" in jvm_settings(is_short=is_short(settings))[OPTION]
    land(settings, "one more.zst", 1)
    assert not is_short(settings)
    assert "Tier4" in jvm_settings(is_short=is_short(settings))[OPTION]


def test_a_run_that_updates_gold_is_short_where_the_tables_have_few_events(
    settings: IngestSettings,
) -> None:
    settings = replace(settings, is_gold_updated=True)
    batches = str(Path(settings.tables, "batches"))
    assert not is_short(settings), "the table cannot be read"
    shutil.rmtree(Path(settings.tables))
    land(settings, "old.zst", 1)
    assert is_short(settings), "there are no tables yet"
    write_deltalake(batches, pa.table({"events_new": [EVENTS_SHORT_RUN_MAX]}))
    os.utime(Path(batches, "_delta_log"), (LAST_RUN, LAST_RUN))
    assert is_short(settings)
    write_deltalake(batches, pa.table({"events_new": [1]}), mode="append")
    assert not is_short(settings)


def test_where_no_run_has_ended_everything_is_to_be_read(settings: IngestSettings) -> None:
    Path(settings.tables, "batches", "_delta_log").rmdir()
    assert not is_short(settings)


def test_what_lies_elsewhere_is_not_known_to_be_little() -> None:
    assert not is_short(IngestSettings(source="s3a://landing", tables="/nowhere"))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PYSPARK_SUBMIT_ARGS", f"--conf {OPTION}=-Xss8m pyspark-shell"),
        ("PYSPARK_SUBMIT_ARGS", "--conf spark.driver.extraJavaOptions=-XX:+UseG1GC pyspark-shell"),
        ("JDK_JAVA_OPTIONS", "-XX:+UseParallelGC"),
    ],
)
def test_options_that_were_set_outside_stay_alone(
    settings: IngestSettings, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    assert jvm_settings(is_short=is_short(settings))
    monkeypatch.setenv(variable, value)
    assert not jvm_settings(is_short=is_short(settings))


def test_tables_have_few_events_or_many_or_are_not_known(tmp_path: Path) -> None:
    assert not has_few_events(str(tmp_path)), "there are no tables"
    assert not has_few_events("s3a://bucket/tables")
    batches = str(tmp_path / "batches")
    write_deltalake(batches, pa.table({"events_new": [EVENTS_SHORT_RUN_MAX]}))
    assert has_few_events(str(tmp_path))
    write_deltalake(batches, pa.table({"events_new": [1]}), mode="append")
    assert not has_few_events(str(tmp_path))
