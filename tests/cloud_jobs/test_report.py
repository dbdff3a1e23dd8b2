"""A run's report as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.cli.reports import REPORT


def test_a_report_is_json_with_a_row_for_each_reason_of_refusals() -> None:
    report = replace(REPORT, quarantine={("segment", "cut"): 2, ("line", "not_json"): 1})
    found = json.loads(json.dumps(report.as_json()))
    assert found["quarantine"] == [
        {"kind": "line", "reason": "not_json", "rows": 1},
        {"kind": "segment", "reason": "cut", "rows": 2},
    ]
    assert {"batches", "events_new", "gaps", "tables"} <= {*found}
