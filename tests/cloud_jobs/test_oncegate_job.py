"""What `make cloud-dist` makes runs under spark-submit, with the master that was given there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_jobs.ingest.run_lock import only_run
from tests.cloud_jobs.submitting import submit
from tests.contract.segments import LogWriter, opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "master",
    ["local[2]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.long)],
)
def test_a_submitted_ingestion_fills_the_tables_on_that_master(tmp_path: Path, master: str) -> None:
    landing = tmp_path / "landed"
    landing.mkdir()
    for number in (1, 2):
        log = LogWriter(f"gw-{number}", store=f"{number:016x}")
        log.seal([opened()]).write_to(landing)
    verb = ["ingest", "--source", str(landing), "--tables", str(tmp_path / "tables")]
    code, result, errors = submit(tmp_path, master, verb)
    assert code == 0, errors
    assert (result["segments_ingested"], result["events_new"], result["gaps_count"]) == (2, 2, 0)
    assert "2 segments, " in errors


def test_busy_tables_have_an_exit_code_of_their_own(tmp_path: Path) -> None:
    tables = str(tmp_path / "tables")
    with only_run(tables):
        code, _, errors = submit(tmp_path, "local[1]", ["compact", "--tables", tables])
    assert code == 5, errors
    assert "is writing to" in errors
