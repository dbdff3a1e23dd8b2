"""The script of `make cloud-dist` runs the package in the .zip beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cloud_jobs.distribution import write
from cloud_jobs.ingest.run_lock import only_run


def test_the_script_runs_the_verbs_of_the_zip_and_busy_tables_have_an_exit_code(
    tmp_path: Path,
) -> None:
    archive, script = write(tmp_path / "dist")
    tables = str(tmp_path / "tables")
    program = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); sys.argv.pop(0);"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    with only_run(tables):
        outcome = subprocess.run(
            [sys.executable, "-c", program, archive, script, "compact", "--tables", tables],
            check=False, capture_output=True, text=True, cwd=tmp_path, timeout=120,
        )  # fmt: skip
    assert outcome.returncode == 5, outcome.stderr
    assert "is writing to" in outcome.stderr
