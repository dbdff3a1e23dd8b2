"""A run with nothing to do needs no Spark, and nothing new is ever passed over."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cloud_jobs.report import IngestReport
from cloud_jobs.settings import IngestSettings
from cloud_jobs.unchanged import (
    FILE,
    Refused,
    forget,
    landing_of,
    remember,
    report_if_unchanged,
)
from tests.cli.reports import REPORT
from tests.cloud_jobs.conftest import Ingested, Place

REFUSED: Refused = {
    "bad.zst": [(3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
}
"""The bytes b"abc"."""


@pytest.fixture
def settings(tmp_path: Path) -> IngestSettings:
    """A landing directory with a good segment and one in quarantine, a table, and the hint."""
    landing, log = tmp_path / "landed", tmp_path / "tables" / "segments" / "_delta_log"
    (landing / "gw").mkdir(parents=True)
    log.mkdir(parents=True)
    (log / f"{4:020}.json").write_text("{}")
    (landing / "gw" / "good.zst").write_bytes(b"good")
    (landing / "bad.zst").write_bytes(b"abc")
    settings = IngestSettings(source=str(landing), tables=str(tmp_path / "tables"))
    note(settings)
    return settings


def note(settings: IngestSettings, report: IngestReport = REPORT) -> None:
    landing = landing_of(settings)
    assert landing is not None
    remember(settings, landing, REFUSED, report)


def test_where_nothing_has_changed_the_report_of_the_last_run_has_no_news(
    settings: IngestSettings,
) -> None:
    report = report_if_unchanged(settings)
    assert report is not None
    assert (report.batches, report.segments_ingested, report.events_new) == (0, 0, 0)
    assert (report.source, report.tables_root) == (settings.source, settings.tables)


def lands(settings: IngestSettings) -> None:
    (Path(settings.source) / "gw" / "new.zst").write_bytes(b"new")


def lands_in_a_new_directory(settings: IngestSettings) -> None:
    (Path(settings.source) / "another").mkdir()
    (Path(settings.source) / "another" / "good.zst").write_bytes(b"new")


def lands_behind_a_link(settings: IngestSettings) -> None:
    elsewhere = Path(settings.source).with_name("elsewhere")
    elsewhere.mkdir()
    (Path(settings.source) / "link").symlink_to(elsewhere)
    (elsewhere / "new.zst").write_bytes(b"new")


def goes(settings: IngestSettings) -> None:
    (Path(settings.source) / "gw" / "good.zst").unlink()


def is_mended(settings: IngestSettings) -> None:
    (Path(settings.source) / "bad.zst").write_bytes(b"abd")


def all_landed_files_go(settings: IngestSettings) -> None:
    shutil.rmtree(settings.source)


def a_table_is_written(settings: IngestSettings) -> None:
    log = Path(settings.tables) / "segments" / "_delta_log"
    (log / f"{5:020}.json").write_text("{}")


def a_table_goes(settings: IngestSettings) -> None:
    shutil.rmtree(Path(settings.tables) / "segments")


def a_table_is_added(settings: IngestSettings) -> None:
    (Path(settings.tables) / "events" / "_delta_log").mkdir(parents=True)


def a_batch_is_begun(settings: IngestSettings) -> None:
    (Path(settings.tables) / "_staging" / "00000002").mkdir(parents=True)


def a_run_begins(settings: IngestSettings) -> None:
    forget(settings)


@pytest.mark.parametrize(
    "what",
    [
        lands,
        lands_in_a_new_directory,
        lands_behind_a_link,
        goes,
        is_mended,
        all_landed_files_go,
        a_table_is_written,
        a_table_goes,
        a_table_is_added,
        a_batch_is_begun,
        a_run_begins,
    ],
)
def test_whatever_changes_spark_looks(
    what: Callable[[IngestSettings], None], settings: IngestSettings
) -> None:
    assert report_if_unchanged(settings) is not None
    what(settings)
    assert report_if_unchanged(settings) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"format":1}', b'{"format":2}', bytes(4096)],
)
def test_a_hint_that_is_none_is_not_believed(content: bytes, settings: IngestSettings) -> None:
    (Path(settings.tables) / FILE).write_bytes(content)
    assert report_if_unchanged(settings) is None


@pytest.mark.parametrize(
    "key", ["format", "source", "landed_sha256", "refused", "commits", "keys_sha256"]
)
def test_a_hint_with_another_value_is_not_believed(key: str, settings: IngestSettings) -> None:
    file = Path(settings.tables) / FILE
    hint = json.loads(file.read_text())
    hint[key] = {"bad.zst": []} if key == "refused" else "other"
    file.write_text(json.dumps(hint))
    assert report_if_unchanged(settings) is None


def test_another_keys_file_than_the_last_run_had_makes_spark_look(
    settings: IngestSettings, tmp_path: Path
) -> None:
    pinned = replace(settings, keys=tmp_path / "keys")
    (tmp_path / "keys").write_text("# none\n")
    assert report_if_unchanged(pinned) is None
    note(pinned)
    assert report_if_unchanged(pinned) is not None
    assert report_if_unchanged(settings) is None
    (tmp_path / "keys").write_text("# another\n")
    assert report_if_unchanged(pinned) is None
    (tmp_path / "keys").unlink()
    assert report_if_unchanged(pinned) is None


def test_a_hint_of_a_version_whose_report_had_other_keys_is_not_believed(
    settings: IngestSettings,
) -> None:
    file = Path(settings.tables) / FILE
    hint = json.loads(file.read_text())
    hint["report"]["unknown"] = 1
    file.write_text(json.dumps(hint))
    assert report_if_unchanged(settings) is None


def test_another_landing_directory_with_the_same_names_is_not_known(
    settings: IngestSettings, tmp_path: Path
) -> None:
    other = shutil.copytree(settings.source, tmp_path / "other")
    moved = dataclasses.replace(settings, source=str(other))
    assert report_if_unchanged(moved) is None


@pytest.mark.parametrize("place", ["gs://bucket/prefix", "hdfs://host/x"])
def test_what_is_not_on_this_machine_has_no_hint(place: str, settings: IngestSettings) -> None:
    assert report_if_unchanged(dataclasses.replace(settings, source=place)) is None
    assert report_if_unchanged(dataclasses.replace(settings, tables=place)) is None
    assert landing_of(dataclasses.replace(settings, source=place)) is None
    forget(dataclasses.replace(settings, tables=place))


def test_a_file_url_is_its_directory(settings: IngestSettings) -> None:
    url = dataclasses.replace(settings, source=Path(settings.source).as_uri())
    assert report_if_unchanged(url) is not None


def test_looking_needs_neither_pyspark_nor_java() -> None:
    program = "import sys, cloud_jobs.unchanged; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_run_that_changed_nothing_reports_what_spark_reports(ingested: Ingested) -> None:
    report = report_if_unchanged(ingested.place.settings)
    assert report is not None
    assert dataclasses.replace(report, seconds=ingested.idle.seconds) == ingested.idle
    assert report.gaps_count > 0
    assert report.quarantine


@pytest.mark.long
def test_after_it_a_segment_that_lands_is_ingested(ingested: Ingested, tmp_path: Path) -> None:
    place = Place(ingested.place.spark, tmp_path)
    landed = sorted(ingested.place.landing.glob("repeats.*.zst"))
    shutil.copy(landed[0], place.landing)
    assert place.run().segments_ingested == 1
    assert report_if_unchanged(place.settings) is not None
    shutil.copy(landed[1], place.landing)
    assert report_if_unchanged(place.settings) is None
    assert place.run().segments_ingested == 1
    assert report_if_unchanged(place.settings) is not None


def test_names_that_spark_leaves_out_are_no_segments(settings: IngestSettings) -> None:
    landing = Path(settings.source)
    (landing / "_temporary").mkdir()
    for path in (".hidden.zst", "_hidden.zst", "_temporary/a.zst", "half.zst.part"):
        (landing / path).write_bytes(b"x")
    found = landing_of(settings)
    assert found is not None
    assert found.segment_names == {"good.zst", "bad.zst"}
    assert len(found.paths) == 6
