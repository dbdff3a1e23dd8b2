"""Vacuum keeps what readers younger than the horizon may need."""

import os
import time
from pathlib import Path

import pytest

from cloud_jobs.maintenance.vacuum import vacuum
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Place


@pytest.mark.long
def test_files_older_than_the_horizon_that_no_version_refers_to_go(
    place: Place, empty_tables: Path
) -> None:
    tables = Tables(place.spark, place.settings.tables)
    rows = place.spark.read.format("delta").load(str(empty_tables / "segments"))
    rows.write.format("delta").save(tables.path("segments"))
    old, young = (Path(tables.path("segments")) / f"{age}.parquet" for age in ("old", "young"))
    for path in (old, young):
        path.write_bytes(b"x")
    ago = time.time() - 3 * 86_400
    os.utime(old, (ago, ago))
    dry = vacuum(tables, lambda _: None, keep_days=2, is_dry=True)
    assert (dry["files"], old.exists()) == (1, True)
    done = vacuum(tables, lambda _: None, keep_days=2, is_dry=False)
    assert (done["files"], old.exists(), young.exists()) == (1, False, True)
