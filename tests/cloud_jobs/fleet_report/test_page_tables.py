"""Words, cells and tables that the pages share."""

import datetime

from cloud_jobs.fleet_report.page_tables import age, count_cell, counted, sortable, when

NOW = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)


def test_one_is_singular() -> None:
    assert (counted(1, "gap"), counted(2, "gap")) == ("1 gap", "2 gaps")


def test_a_time_that_is_not_known_is_never_and_long_ago() -> None:
    assert (when(None), when(NOW)) == ("never", "2026-01-02 12:00")
    assert age(NOW, None) == float("inf")
    assert age(NOW, NOW + datetime.timedelta(hours=1)) == 0


def test_a_cell_has_the_number_that_it_sorts_by_and_csv_a_unit() -> None:
    drawn = sortable(("Name", "Offline|seconds"), [("", [(("a", None), count_cell(20_000))])], "t")
    assert '<th scope="col" data-csv="Offline (seconds)"><button>Offline</button></th>' in drawn
    assert '<th scope="row">a</th><td data-v="20000">20 k</td>' in drawn


def test_groups_have_a_heading_and_a_body_each() -> None:
    rows = [(("a", None),)]
    drawn = sortable(("Name",), [("North", rows), ("South", rows)], "t")
    assert drawn.count("<tbody>") == drawn.count('<th scope="rowgroup" colspan="1">') == 2
