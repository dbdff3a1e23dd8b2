"""The page has the measured rows, and the ratios for each size of a batch."""

from __future__ import annotations

from tests.instruments.benchmarks.cloud.report import Row, line_of, page_of, ratios_of, table_of

ROWS = [
    Row("plain Spark", 50_000, 1, 1, 0, 10**9, 0),
    Row("oncegate ingest", 50_000, 2, 2, 3 * 10**8, 10**9, 2 * 10**8),
    Row("plain Spark", 150_000, 1, 1, 0, 10**9, 0),
    Row("oncegate ingest", 150_000, 2, 1, 3 * 10**8, 10**9, 2 * 10**8),
    Row("plain Spark", 150_000, 1, 1, 0, 10**9, 0),
    Row("oncegate ingest", 150_000, 2, 3, 3 * 10**8, 10**9, 2 * 10**8),
    Row("`oncegate gold` of all 50,000 events", 50_000, 9, 9, 0, 10**9, 0),
    Row("nothing new", 0, 0.1, 0.1, 0, 0, 0),
]
MACHINE = {"processor": "x", "cores": 2, "system": "y", "file_system": "z", "python": "3"}


def test_the_ratio_is_that_of_all_turns_of_a_size_together() -> None:
    small, large = ratios_of(ROWS).splitlines()
    assert "of 50,000 events in a batch: 25,000 events a processor second: 0.50 of" in small
    assert "of 150,000 events in a batch: 75,000 events a processor second: 0.50 of" in large


def test_each_row_is_in_the_table_and_few_events_have_no_rate() -> None:
    table = table_of(ROWS)
    assert (
        "| oncegate ingest | 150,000 | 2.0 | 1.0 | 150,000 | 300 MB | 1,000 MB | 200 MB |" in table
    )
    assert "| nothing new | 0 | 0.1 | 0.1 |  |  |  |  |" in table
    assert line_of(ROWS[-1]) == "nothing new: 0.1 s, 0.1 processor s"
    assert table in page_of(ROWS, MACHINE, "load average 1")
