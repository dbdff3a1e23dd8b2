"""Tables of an earlier or a later version."""

from __future__ import annotations

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import GATEWAY_KEYS, SEGMENTS
from cloud_jobs.tables.versions import version_of, write_version
from tests.cloud_jobs.conftest import Place


def small(place: Place, version: int) -> Tables:
    """Two tables, the first of which bears a version and lacks the columns that came last."""
    root = place.settings.tables
    tables = Tables(place.spark, root, {"segments": SEGMENTS, "gateway_keys": GATEWAY_KEYS})
    rows = place.spark.createDataFrame([], SEGMENTS).drop("folder", "public_key")
    rows.write.format("delta").save(tables.path("segments"))
    write_version(tables, "segments", version)
    return tables


def test_a_step_adds_the_columns_that_came_later_and_the_version(place: Place) -> None:
    tables = small(place, 0)
    tables.create()
    assert tables.read("segments").columns == SEGMENTS.fieldNames()
    assert version_of(tables, "segments") == 1
    tables.create()


def test_tables_of_a_newer_version_are_refused(place: Place) -> None:
    with pytest.raises(IngestError, match="of version 9, and this job knows 1"):
        small(place, 9).create()


def test_a_run_that_died_within_a_step_repeats_it(place: Place) -> None:
    tables = small(place, 0)
    done: list[str] = []

    def fail_once(found: Tables) -> None:
        done.append("begun")
        if len(done) == 1:
            raise KeyboardInterrupt
        making.add_columns(found)

    mended = Tables(place.spark, tables.root, tables.schemas, steps={0: fail_once})
    with pytest.raises(KeyboardInterrupt):
        mended.create()
    assert version_of(tables, "segments") == 0
    mended.create()
    assert (len(done), version_of(tables, "segments")) == (2, 1)
