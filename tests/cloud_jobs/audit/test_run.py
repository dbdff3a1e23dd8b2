"""All cases of tests/audit_checks/cases.py, audited in Spark with one ingestion and one audit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from cloud_jobs.audit.run import audit_tables
from cloud_jobs.errors import IngestError
from tests.audit_checks.cases import CASES, Case
from tests.cloud_jobs.conftest import Ingested, Place


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.gateway)
def test_a_case_has_one_exception_for_each_of_its_checks(case: Case, audit: dict[str, Any]) -> None:
    mine = [one for one in audit["exceptions"] if one["gateway"] == case.gateway]
    assert Counter((one["verdict"], one["check"]) for one in mine) == case.exceptions, mine


def test_the_worst_case_is_the_verdict_of_all_and_every_exception_is_counted(
    audit: dict[str, Any],
) -> None:
    assert audit["verdict"] == "violation"
    assert audit["violations"] + audit["inconclusive"] == len(audit["exceptions"])
    assert audit["exceptions_not_shown"] == 0


def test_the_counts_are_those_of_the_events(audit: dict[str, Any], ingested: Ingested) -> None:
    rows = ingested.place.rows("events")
    kinds = Counter(row.event for row in rows)
    counts = audit["counts"]
    assert counts["events"] == len(rows)
    assert counts["held"] == kinds["message_held"]
    assert counts["released"] == kinds["message_released"]
    assert counts["dropped"] + counts["expired"] == kinds["message_dropped"]
    assert counts["matched"] == sum(row.matched or 0 for row in rows)


def test_tables_that_are_not_ours_are_refused_in_one_line(place: Place) -> None:
    with pytest.raises(IngestError, match="are they those that `oncegate ingest` wrote"):
        audit_tables(place.spark, place.settings.tables, lambda _: None)
