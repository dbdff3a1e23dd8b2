"""A run's report shows the same counts as the tables."""

from __future__ import annotations

import json

from tests.cloud_jobs.conftest import Ingested


def test_the_golden_segments_become_the_rows_that_the_contract_promises(ingested: Ingested) -> None:
    rows = ingested.place.rows
    readings = rows("sensor_readings", "gateway = 'gw-golden'")
    values = {(row.quantity, row.value, row.string_value, row.boolean_value) for row in readings}
    assert values == {
        ("temperature", 21.5, None, None),
        ("door", None, None, True),
        ("state", None, "ok", None),
    }
    (gateway,) = (one for one in ingested.first.gateways if one.gateway == "gw-golden")
    assert (gateway.boots, gateway.first_sequence, gateway.last_sequence) == (2, 1, 62)
    assert (gateway.events, gateway.segments) == (56, 6)
    (gap,) = ingested.gaps(ingested.first, "gw-golden")
    assert (gap.from_sequence, gap.to_sequence) == (41, 46)
    assert "log_truncated" in gap.detail
    (later,) = rows("events", "event = 'published_by_a_later_version'")
    assert json.loads(later.extra) == {"reason": 7, "spread": {"a": [1, 2.5, None, "x"]}}
    assert later.client_id == "naïve 客户"


def test_a_report_has_every_kind_of_gap(ingested: Ingested) -> None:
    assert {gap.kind for gap in ingested.first.gaps} == {"sequence", "chain", "unread"}
    assert ingested.first.repeated_starts
    assert ingested.first.quarantine
