"""Two runs on one local tables directory: the second one is refused immediately."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.run_lock import only_run


def test_a_second_run_is_refused_with_the_process_that_is_writing(tmp_path: Path) -> None:
    program = (
        "import sys; from cloud_jobs.ingest.run_lock import only_run\n"
        "with only_run(sys.argv[1]): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "tables")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        refusal = f"another ingest \\(process {holder.pid}\\)"
        with pytest.raises(IngestError, match=refusal), only_run(str(tmp_path / "tables")):
            pytest.fail("the lock was given twice")
        holder.kill()
    with only_run((tmp_path / "tables").as_uri()):
        assert (tmp_path / "tables" / "_ingest.lock").exists()


def test_a_tables_directory_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(IngestError, match="make it writable or name another one"),
        only_run(str(tmp_path / "file" / "tables")),
    ):
        pytest.fail("there is no such directory")


def test_tables_on_an_object_store_are_not_locked() -> None:
    with only_run("s3a://bucket/tables"):
        pass
