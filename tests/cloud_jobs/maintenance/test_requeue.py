"""Refused segments that are queued for verification again."""

from pathlib import Path

import pytest

from cloud_jobs.ingest.landing import list_landed
from cloud_jobs.maintenance.requeue import requeue
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Ingested


@pytest.mark.long
def test_only_what_is_requeued_is_looked_at_again(ingested: Ingested, tmp_path: Path) -> None:
    place = ingested.before_the_second_batch(tmp_path)
    tables = Tables(place.spark, place.settings.tables)
    before = {*list_landed(tables, place.settings.source).paths}
    (refused,) = place.rows("quarantine", "segment_name = 'huge.jsonl.zst'")
    result = requeue(tables, reason=refused["reason"], gateway=None)
    assert result["reasons"] == {refused["reason"]: result["segments"]}
    after = {*list_landed(tables, place.settings.source).paths}
    assert any(path.endswith("huge.jsonl.zst") for path in after - before)
    assert len(after - before) == result["segments"]
    assert requeue(tables, reason=refused["reason"], gateway=None)["segments"] == 0
