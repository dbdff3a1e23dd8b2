"""The entry point: what it loads, and how it ends where a step cannot go on."""

import subprocess
import sys
from pathlib import Path


def test_help_loads_no_room(tmp_path: Path) -> None:
    program = (
        "import sys; from gateway.cli.main import run; run(['--help']);"
        "heavy = {'pydantic', 'fastapi', 'pyspark', 'obstore', 'gmqtt', 'argon2', 'sqlite3'};"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, stdout=subprocess.DEVNULL
    )


def test_output_that_nobody_reads_any_more_brings_no_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway.cli.main", "check-config", "--show"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    complaint = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert b"Traceback" not in complaint
