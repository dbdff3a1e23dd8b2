"""The page as a document: complete, without access to the network, and with escaped names."""

import dataclasses
import datetime
import re
from typing import Any

from cloud_jobs.fleet_report.document import anchor_of
from cloud_jobs.fleet_report.figures import Figures
from cloud_jobs.fleet_report.limits import LINES_SHOWN_MAX
from cloud_jobs.fleet_report.page import page_of
from cloud_jobs.fleet_report.sensors import NO_FAULTS
from tests.cloud_jobs.fleet_report.conftest import Fleet

DAY = datetime.date(2026, 1, 2)
NOW = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)
_COLUMNS = (
    "messages", "released", "abandoned", "duplicates", "deliveries", "completed", "dropped",
    "resent", "missing", "readings_missing", "messages_dropped", "messages_expired", "violations",
    "inconclusive", "offline_seconds", "sessions_opened", "sessions_resumed", "sessions_lost",
    "ok", "doubtful", "violating",
    *(f"{name}{suffix}"
      for name in ("hold_p50_ms", "hold_p99_ms", "delivery_p50_ms", "delivery_p99_ms",
                   "lag_p50_seconds", "lag_max_seconds")
      for suffix in ("", "_worst")),
)  # fmt: skip
EMPTY = Figures("/t", NOW, 0, [DAY], 0, 0, [], [], {}, [], [], [], 0, [], 0, [])


def test_a_fleet_without_a_gateway_has_a_page() -> None:
    assert "Not audited yet" in page_of(EMPTY)


def test_a_gap_of_a_hostile_gateway_is_text_and_nothing_is_loaded() -> None:
    gap: dict[str, Any] = {"gateway": "<img src=x>", "kind": "sequence", "segment": 2,
                           "missing": 3, "day": DAY, "detail": "<script>"}  # fmt: skip
    page = page_of(dataclasses.replace(EMPTY, gaps=[gap], gaps_count=1))
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    # The name of SVG's namespace is not an address from which anything is loaded.
    assert "://" not in page.replace('"http://www.w3.org/2000/svg"', "")


def test_messages_that_were_not_delivered_are_amber_and_expired_ones_are_named() -> None:
    day: dict[str, Any] = dict.fromkeys(_COLUMNS, 0) | {"ok": 1, "messages_expired": 3}
    page = page_of(dataclasses.replace(EMPTY, fleet={DAY: day}))
    assert '<p class="delivery good">Every message accounted for; 3 expired before' in page
    assert "<h1>All is well</h1>" in page
    lost: dict[str, Any] = {"gateway": "hall", "client_id": "<archive>", "topic": "a/b",
                            "reason": "queue_full", "messages": 70, "day": DAY}  # fmt: skip
    day |= {"messages_dropped": 70}
    page = page_of(dataclasses.replace(EMPTY, fleet={DAY: day}, not_delivered=[lost]))
    assert '<p class="delivery doubt">70 messages not delivered at 1 gateway: see below' in page
    assert "&lt;archive&gt;" in page
    assert "raise max_mqueue_len" in page


def test_a_session_that_an_operator_deleted_is_amber() -> None:
    day: dict[str, Any] = dict.fromkeys(_COLUMNS, 0) | {"ok": 1}
    lost: dict[str, Any] = {"gateway": "hall", "client_id": "archive", "topic": None,
                            "reason": "session dropped", "messages": 1, "day": DAY}  # fmt: skip
    page = page_of(
        dataclasses.replace(EMPTY, fleet={DAY: day}, not_delivered=[lost], discarded_count=1)
    )
    assert "1 message not delivered at 1 gateway" in page
    assert "an operator deleted the session" in page


def test_what_needs_attention_is_first_and_linked(fleet: Fleet) -> None:
    page = (fleet.folder / "index.html").read_text()
    assert '<section class="verdict bad"><h1>8 gateways and 3 sensors need attention</h1>' in page
    assert page.index("Needs attention</h2>") < page.index("Sites</h2>")
    assert page.index("Sites</h2>") < page.index("Gateways</h2>") < page.index("The fleet by day")
    anchor = anchor_of("meter-31")
    link = rf'<a href="gateways/gw-0031-[0-9a-f]+\.html#{anchor}"><bdi>Main meter</bdi> at '
    assert re.search(link, page)
    assert "A sensor is silent when" in page


def test_more_lines_of_a_kind_than_fit_are_folded_and_counted() -> None:
    faults = dataclasses.replace(
        NO_FAULTS,
        resets=[{"gateway": "hall", "sensor": f"m-{n}", "device": f"m-{n}", "resets": 1,
                 "names": [f"m-{n}/energy"]} for n in range(LINES_SHOWN_MAX + 3)],
        resets_count=500,
    )  # fmt: skip
    page = page_of(dataclasses.replace(EMPTY, sensors=faults))
    assert f"<summary>{500 - LINES_SHOWN_MAX} more</summary>" in page
    assert f"<li>{500 - LINES_SHOWN_MAX - 3} more, not listed</li>" in page


def test_tables_of_an_earlier_version_say_what_to_run() -> None:
    page = page_of(dataclasses.replace(EMPTY, has_sensors=False))
    assert "Run <code>oncegate gold</code>" in page
    assert "Silent sensors" not in page
