"""`oncegate report`: its result, and one line for each mistake."""

import datetime
import json
from pathlib import Path

import pytest

from cloud_jobs.fleet_report.limits import DAYS_MAX
from gateway.cli.main import run
from gateway.cli.tables import report
from tests.cloud_jobs.fleet_report.simulated_fleet import write_tables


def test_without_gold_tables_it_states_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--tables", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "run `oncegate gold` first" in line


def test_the_days_are_those_of_the_page() -> None:
    assert report.DAYS_MAX == DAYS_MAX
    assert run(["report", "--days", str(DAYS_MAX + 1)]) == 2


def tables_of(root: Path, *, has_sensors: bool = True) -> str:
    seen = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)
    boots = [{"gateway": "hall", "last_time": seen, "version": "0.1.0"}]
    write_tables(root / "tables", {"boots": boots}, has_sensors=has_sensors)
    return str(root / "tables")


def test_the_result_names_the_page_and_what_needs_attention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--tables", tables_of(tmp_path), "-o", str(tmp_path / "report")]
    assert run(["report", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{tmp_path}/report/index.html: 1 gateway, 0 sensors", "silent gateways 1"]
    assert run(["report", *options, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["pages"] == 2
    assert result["need_attention"] == {"Silent gateways": 1}
    assert Path(result["page"]).is_file()


def test_tables_without_sensors_make_a_report_that_names_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = tables_of(tmp_path, has_sensors=False)
    assert run(["report", "--tables", tables, "-o", str(tmp_path / "report")]) == 0
    assert "no sensors yet: run `oncegate gold`" in capsys.readouterr().err


def test_a_name_of_a_gateway_that_is_not_in_the_tables_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tmp_path / "names.csv"
    names.write_text("gateway,device,name,site\nhall,,Hall,\nhal,,Typo,\n")
    options = ["--tables", tables_of(tmp_path), "-o", str(tmp_path / "report")]
    assert run(["report", *options, "--names", str(names)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"oncegate report: {names}: 1 gateway not in the tables"
    assert "<bdi>Hall</bdi>" in (tmp_path / "report" / "index.html").read_text()


def test_a_mistake_in_the_file_of_names_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tmp_path / "names.csv"
    names.write_text("gateway,device,name,site\nhall,,Hall\n")
    options = ["--tables", tables_of(tmp_path), "-o", str(tmp_path / "report")]
    assert run(["report", *options, "--names", str(names)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"--names {names}: line 2: 3 fields; expected the 4 fields")
    assert not (tmp_path / "report").exists()
    assert run(["report", *options, "--names", str(tmp_path / "absent.csv")]) == 1
    assert "absent.csv" in capsys.readouterr().err


def test_a_file_in_the_place_of_the_folder_is_one_line_with_the_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--tables", tables_of(tmp_path), "-o", str(tmp_path / "fleet.html")]
    assert run(["report", *options]) == 1
    assert "choose a name such as fleet with --output" in capsys.readouterr().err
