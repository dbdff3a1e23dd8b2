"""Words and rows of the page's tables."""

from cloud_jobs.fleet_report.page_tables import counted, text


def test_one_is_singular_and_a_name_is_escaped_and_bounded() -> None:
    assert (counted(1, "gap"), counted(2, "gap")) == ("1 gap", "2 gaps")
    assert text("<" * 100) == "&lt;" * 80
    assert text(None) == "-"
