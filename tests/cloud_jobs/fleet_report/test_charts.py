"""Charts as text: their contents, and gateways' strings that cannot escape into the page."""

from cloud_jobs.fleet_report.charts import Series, chart, duration, number


def test_numbers_and_times_are_written_as_a_person_reads_them() -> None:
    assert [number(n) for n in (0, 7, 1_234, 20_000, 1.25e6)] == [
        "0",
        "7",
        "1,234",
        "20 k",
        "1.25 M",
    ]
    assert [duration(s) for s in (0, 0.012, 5, 120, 7_200, 864_000)] == [
        "0 s", "12 ms", "5 s", "2 min", "2 h", "10 d"]  # fmt: skip


def test_a_day_without_a_value_breaks_the_line_and_text_is_escaped() -> None:
    drawn = chart("<b>", [Series("x", "c1", [1.0, None, 2.0])], ["1", "2", "3"])
    assert drawn.count("M", drawn.index("line c1")) == 2
    assert "<b>" not in drawn.split("<ul>")[0]


def test_an_axis_of_times_ends_at_a_round_one() -> None:
    assert "12 h" in chart("x", [Series("x", "c1", [40_000.0])], ["1"], unit="s")
