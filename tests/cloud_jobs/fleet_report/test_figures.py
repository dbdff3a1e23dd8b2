"""Reading gold tables without Spark."""

import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.fleet_report.figures import ReportError, read_figures
from cloud_jobs.fleet_report.page import page_of
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import QUARANTINE, SESSIONS
from tests.cloud_jobs.conftest import Place

NOW = datetime.datetime(2025, 11, 22, tzinfo=datetime.UTC)


def test_sums_are_those_of_the_tables(golden: Place) -> None:
    figures = read_figures(golden.settings.tables, 7, NOW)
    assert 1 <= len(figures.days) <= 7
    assert figures.days[0] in {row["day"] for row in golden.rows("gateway_health", "events > 0")}
    days = f"day BETWEEN DATE '{figures.days[0]}' AND DATE '{figures.days[-1]}'"
    daily = golden.rows("qos2_daily", days)
    shown = sum(row["messages"] for row in figures.fleet.values())
    assert shown == sum(row["messages"] for row in daily) > 0
    assert figures.gaps_count == len(golden.rows("gaps"))
    assert len(figures.cells) == len(golden.rows("gateway_health", days))


def test_a_gateway_that_was_silent_all_the_time_is_counted_and_in_map_and_table(
    tmp_path: Path,
) -> None:
    day = NOW.date()
    rows = {
        "gateway_health": [{"gateway": "busy", "day": day, "events": 5}],
        "boots": [{"gateway": "busy", "last_time": NOW},
                  {"gateway": "quiet", "last_time": NOW - datetime.timedelta(days=90)}],
        "gold_runs": [{"run": 1, "through_batch": 3, "is_done": True}],
    }  # fmt: skip
    for name, schema in (GOLD_TABLES | {"sessions": SESSIONS, "quarantine": QUARANTINE}).items():
        table = pa.Table.from_pylist(
            rows.get(name, []), schema=to_arrow_schema(schema, timezone="UTC")
        )
        write_deltalake(str(tmp_path / name), table)
    figures = read_figures(str(tmp_path), 7, NOW)
    assert (figures.gateways_count, figures.silent_count) == (2, 1)
    assert [row["gateway"] for row in figures.gateways] == ["quiet", "busy"]
    page = page_of(figures)
    assert "1 silent for a day" in page
    assert "<b class=doubt>silent</b>" in page
    assert 'class="none"' in page


def test_tables_that_are_not_there_are_one_line_with_the_mend(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"run `oncegate gold` first$"):
        read_figures(str(tmp_path), 7, NOW)
