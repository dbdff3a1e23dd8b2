"""`oncegate report`: one line where there are no tables, and the days that it may show."""

from pathlib import Path

import pytest

from cloud_jobs.fleet_report.limits import DAYS_MAX
from gateway.cli import report
from gateway.cli.main import run


def test_without_gold_tables_it_states_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--tables", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "run `oncegate gold` first" in line


def test_the_days_are_those_of_the_page() -> None:
    assert report.DAYS_MAX == DAYS_MAX
    assert run(["report", "--days", str(DAYS_MAX + 1)]) == 2
