"""Opening gold tables: those of an earlier version, and tables that do not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_jobs.fleet_report.open_tables import ReportError, explained, open_tables
from tests.cloud_jobs.fleet_report.simulated_fleet import write_tables


def test_tables_of_an_earlier_version_are_opened_without_the_sensors(tmp_path: Path) -> None:
    write_tables(tmp_path, {}, has_sensors=False)
    assert not open_tables(str(tmp_path)).has_sensors
    write_tables(tmp_path / "new", {})
    assert open_tables(str(tmp_path / "new")).has_sensors


def test_a_directory_without_tables_and_a_broken_table_are_one_line_each(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"run `oncegate gold` first$"), explained("t"):
        open_tables(str(tmp_path))
    write_tables(tmp_path, {})
    for log in (tmp_path / "boots" / "_delta_log").iterdir():
        log.write_text("{")
    unreadable = pytest.raises(ReportError, match=r"cannot be read .* may this process read them")
    with unreadable, explained(str(tmp_path)):
        open_tables(str(tmp_path))
