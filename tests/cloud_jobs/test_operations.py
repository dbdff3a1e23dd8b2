"""The main module of the other commands: one writer at a time, and tables that must exist."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.operations import compact, gaps, gold
from tests.cloud_jobs.conftest import Ingested, Place


def test_a_writer_beside_another_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with only_run(spark, str(tmp_path)), pytest.raises(IngestError, match="is writing to"):
        compact(str(tmp_path), lambda _: None)


@pytest.mark.long
def test_without_tables_the_error_names_the_command_to_run(place: Place) -> None:
    with pytest.raises(IngestError, match="run `oncegate ingest` first"):
        gold(place.settings.tables, lambda _: None, is_audited=False)


@pytest.mark.long
def test_gaps_of_one_gateway_are_listed(ingested: Ingested) -> None:
    report = ingested.idle
    gateway = report.gaps[0].gateway
    found = gaps(ingested.place.settings.tables, lambda _: None, gateway=gateway)
    assert found["gaps_count"] == len(ingested.gaps(report, gateway))
    assert {row["gateway"] for row in found["gaps"]} == {gateway}
