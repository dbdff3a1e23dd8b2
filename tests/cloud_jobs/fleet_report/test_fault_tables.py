"""Tables of faults: words for an operator, and strings that cannot escape into the page."""

from __future__ import annotations

import datetime

from cloud_jobs.fleet_report.fault_tables import (
    gaps_table,
    not_delivered_table,
    quarantine_table,
)

DAY = datetime.date(2026, 1, 2)
GAP = {"gateway": "hall", "kind": "sensor", "segment": None, "missing": 3, "day": DAY,
       "detail": "<script>"}  # fmt: skip


def test_a_table_of_gaps_states_what_is_missing_and_how_many_gaps_there_are() -> None:
    drawn = gaps_table([GAP], 7, str)
    assert "7 gaps now; the largest 1 are shown." in drawn
    assert "sensor readings" in drawn
    assert "&lt;script&gt;" in drawn
    assert '<th scope="row">hall</th>' in drawn


def test_a_gateways_own_table_does_not_repeat_its_name() -> None:
    assert "hall" not in gaps_table([GAP], 1, None)


def test_a_message_that_was_not_delivered_has_its_reason_in_words() -> None:
    row = {"gateway": "hall", "client_id": "<archive>", "topic": None, "messages": 2, "day": DAY,
           "reason": "queue_full"}  # fmt: skip
    drawn = not_delivered_table([row], str)
    assert "&lt;archive&gt;" in drawn
    assert "raise max_mqueue_len" in drawn


def test_a_table_without_rows_is_left_out() -> None:
    assert not_delivered_table([], str) == gaps_table([], 0, str) == quarantine_table([]) == ""
