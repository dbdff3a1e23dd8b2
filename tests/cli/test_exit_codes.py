"""The exit codes of all verbs: one set of numbers, documented."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs import main as job
from cloud_jobs.report import IngestReport
from gateway.cli import failures, ingest
from gateway.cli.failures import EXIT_CODES_TEXT
from gateway.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
REPORT = IngestReport(
    source="landed",
    tables_root="tables",
    seconds=1.5,
    batches=1,
    segments_ingested=2,
    segments_quarantined=0,
    segments_duplicate=0,
    events_new=3,
    events_duplicate=0,
    readings_new=1,
    readings_duplicate=0,
    quarantined_new=0,
    files_ignored=0,
)


def defined_codes() -> set[int]:
    return {number for name, number in vars(failures).items() if re.fullmatch(r"EXIT_[A-Z]+", name)}


def test_the_page_and_the_help_have_the_codes_that_the_code_has() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    documented = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert [int(code) for code in documented] == sorted(defined_codes())
    assert [int(code) for code in re.findall(r"\d+", EXIT_CODES_TEXT)] == sorted(defined_codes())


def test_no_verb_has_a_code_of_its_own() -> None:
    numbers = re.compile(r"(exit_code=|Exit\(|sys\.exit\()[0-9]")
    for module in sorted((ROOT / "gateway" / "cli").glob("*.py")):
        assert not numbers.search(module.read_text()), module.name


@pytest.mark.parametrize(("gaps_count", "code"), [(0, 0), (7, 4)])
def test_ingest_ends_with_4_where_the_tables_have_gaps(
    gaps_count: int, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def finished(*_: Any) -> IngestReport:
        return dataclasses.replace(REPORT, gaps_count=gaps_count)

    monkeypatch.setattr(job, "run", finished)
    monkeypatch.setattr(ingest, "set_up_spark", lambda: None)
    assert run(["ingest", "--data-dir", str(tmp_path)]) == code


def test_a_broken_password_file_is_a_mistake_of_the_configuration_also_for_up(
    tmp_path: Path,
) -> None:
    (tmp_path / "passwords").write_text("no password file\n")
    (tmp_path / "gateway.toml").write_text(
        '[[listeners]]\nport = 0\n[api]\nport = 0\n[access]\npassword_file = "passwords"\n'
    )
    for verb in ("broker", "up"):
        outcome = subprocess.run(
            [sys.executable, "-m", "gateway.cli.main", verb, "--config", "gateway.toml"],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert outcome.returncode == 2, outcome.stderr
        assert "passwords: line 1: is not USER:HASH" in outcome.stderr
