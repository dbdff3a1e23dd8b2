"""The script of `make cloud-dist` runs the package from the .zip next to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cloud_jobs.distribution import write
from cloud_jobs.ingest.run_lock import locked
from tests.cloud_jobs.processes import submitted
from tests.contract.segments import LogWriter, opened


def test_the_script_runs_the_verbs_of_the_zip_and_busy_tables_have_an_exit_code(
    tmp_path: Path,
) -> None:
    archive, script = write(tmp_path / "dist")
    tables = str(tmp_path / "tables")
    program = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); sys.argv.pop(0);"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    with locked(Path(tables)):
        outcome = subprocess.run(
            [sys.executable, "-c", program, archive, script, "compact", "--tables", tables],
            check=False, capture_output=True, text=True, cwd=tmp_path, timeout=600,
        )  # fmt: skip
    assert outcome.returncode == 5, outcome.stderr
    assert "is writing to" in outcome.stderr


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_a_submitted_ingestion_fills_the_tables_on_that_master(tmp_path: Path, master: str) -> None:
    landing = tmp_path / "landed"
    landing.mkdir()
    for number in (1, 2):
        log = LogWriter(f"gw-{number}", store=f"{number:016x}")
        log.seal([opened()]).write_to(landing)
    verb = ["ingest", "--source", str(landing), "--tables", str(tmp_path / "tables")]
    found = submitted(tmp_path, master, verb)
    assert found.code == 0, found.printed
    result = found.result
    assert (result["segments_ingested"], result["events_new"], result["gaps_count"]) == (2, 2, 0)
    assert "2 segments, " in found.printed
