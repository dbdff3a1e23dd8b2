"""Log, audit, gold tables and report count the same number of dropped messages."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from cloud_jobs.fleet_report.figures import read_figures
from cloud_jobs.fleet_report.page import page_of
from tests.cloud_jobs.conftest import Place

DELIVERY = ("gateway", "store", "session", "message")


def test_days_and_audit_count_the_events_of_the_log(golden: Place, audit: dict[str, Any]) -> None:
    events = golden.rows("events", "event = 'message_dropped'")
    expired = sum(row["reason"] == "expired" for row in events)
    health = golden.rows("gateway_health")
    assert sum(row["messages_expired"] or 0 for row in health) == expired > 0
    assert sum(row["messages_dropped"] or 0 for row in health) == len(events) - expired > 0
    assert (audit["counts"]["dropped"], audit["counts"]["expired"]) == (
        len(events) - expired,
        expired,
    )


def test_each_drop_has_client_reason_and_topic(golden: Place) -> None:
    events = golden.rows("events", "event = 'message_dropped'")
    counted = Counter((row["gateway"], row["client_id"], row["reason"]) for row in events)
    found: Counter[tuple[str, str, str]] = Counter()
    for row in golden.rows("drops"):
        found[row["gateway"], row["client_id"], row["reason"]] += row["messages"]
    assert found == counted
    published = golden.rows("events", "event IN ('message_held', 'message_published')")
    topics = {(row["gateway"], row["store"], row["message"]): row["topic"] for row in published}
    expected = {
        (row["gateway"], topics.get((row["gateway"], row["store"], row["message"])))
        for row in events
    }
    assert {(row["gateway"], row["topic"]) for row in golden.rows("drops")} == expected


def test_a_message_dropped_before_its_queue_counts_at_qos_2(golden: Place) -> None:
    kinds = "event IN ('message_held', 'message_published') AND qos = 2"
    published = {
        (row["gateway"], row["store"], row["message"]) for row in golden.rows("events", kinds)
    }
    dropped = [
        row
        for row in golden.rows("qos2_deliveries", "state = 'dropped'")
        if row["qos"] == 2
        or (row["qos"] is None and (row["gateway"], row["store"], row["message"]) in published)
    ]
    assert any(row["qos"] is None for row in dropped)
    assert sum(row["dropped"] for row in golden.rows("qos2_daily")) == len(dropped)


def test_unfinished_deliveries_of_a_session_that_ended_are_discarded(golden: Place) -> None:
    ends = {
        (row["gateway"], row["store"], row["session"]): row["end_sequence"]
        for row in golden.rows("sessions", "end_sequence IS NOT NULL")
    }
    unfinished = golden.rows("qos2_deliveries", "completed IS NULL AND dropped IS NULL")
    expected = {
        tuple(row[name] for name in DELIVERY)
        for row in unfinished
        if row["first_sequence"] < ends.get(tuple(row[name] for name in DELIVERY[:3]), 0)
    }
    discarded = golden.rows("qos2_deliveries", "state = 'discarded'")
    assert {tuple(row[name] for name in DELIVERY) for row in discarded} == expected
    assert expected
    assert all(row["discard_reason"] for row in discarded)


def test_the_report_is_amber_and_names_client_topic_and_reason(golden: Place) -> None:
    newest = max(row["day"] for row in golden.rows("drops"))
    now = datetime(newest.year, newest.month, newest.day, tzinfo=UTC)
    figures = read_figures(golden.settings.tables, 90, now)
    shown = sum(row["messages"] for row in figures.not_delivered)
    days = f"day BETWEEN DATE '{figures.days[0]}' AND DATE '{figures.days[-1]}'"
    dropped = sum(row["messages"] for row in golden.rows("drops", days))
    assert shown == dropped + figures.discarded_count > 0
    page = page_of(figures)
    assert "<h2>Messages not delivered</h2>" in page
    assert "its queue was full" in page
