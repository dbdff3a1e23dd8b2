"""Gold tables that are up to date are recognised without a JVM."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from cloud_jobs.gold import up_to_date
from cloud_jobs.gold.run import VERSION
from cloud_jobs.gold.up_to_date import events_to_read, result_if_up_to_date
from tests.cloud_jobs.conftest import MadeGold


@pytest.fixture
def root(made_gold: MadeGold, tmp_path: Path) -> Path:
    """A copy of tables that are up to date and audited."""
    return Path(shutil.copytree(made_gold.place.settings.tables, tmp_path / "tables"))


def append(table: Path, **columns: int | bool | str) -> None:
    there = DeltaTable(str(table)).to_pyarrow_table()
    write_deltalake(str(table), pa.Table.from_pylist([columns], there.schema), mode="append")


def test_the_result_is_that_of_a_run_with_nothing_to_do(made_gold: MadeGold, root: Path) -> None:
    last = made_gold.results[-1]
    for is_audited in (True, False):
        result = result_if_up_to_date(str(root), is_audited=is_audited)
        assert result == last | {"batches": 0, "tables_root": str(root)}


def test_a_new_batch_is_left_to_spark_and_then_its_audit(root: Path) -> None:
    append(root / "batches", batch=3)
    assert result_if_up_to_date(str(root), is_audited=False) is None
    append(root / "gold_runs", run=9, is_done=False, from_batch=3, through_batch=3)
    assert result_if_up_to_date(str(root), is_audited=False) is None, "the run has died"
    done = {"is_done": True, "from_batch": 3, "through_batch": 3}
    append(root / "gold_runs", run=9, audited_through=2, **done)
    result = result_if_up_to_date(str(root), is_audited=False)
    assert result is not None
    assert (result["through_batch"], result["audited_through"]) == (3, 2)
    assert not result["is_audited"]
    assert result_if_up_to_date(str(root), is_audited=True) is None


def test_what_cannot_be_judged_without_spark_is_left_to_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert result_if_up_to_date("s3a://lake/tables", is_audited=True) is None
    assert result_if_up_to_date(str(root / "nowhere"), is_audited=True) is None
    with monkeypatch.context() as patched:
        patched.setattr(up_to_date, "VERSION", VERSION + 1)
        assert result_if_up_to_date(str(root), is_audited=True) is None, "of another version"
    with monkeypatch.context() as patched:
        patched.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
        assert result_if_up_to_date(str(root), is_audited=True) is None, "a path may be a cluster's"
    shutil.rmtree(root / "drops")
    assert result_if_up_to_date(str(root), is_audited=True) is None, "a table is missing"


def test_the_events_of_gateways_with_something_new_are_to_be_read(root: Path) -> None:
    assert events_to_read(str(root), is_audited=True) == 0
    append(root / "segments", gateway="new", state="ingested", lines=9, bad_lines=2, batch=3)
    assert events_to_read(str(root), is_audited=False) == 7
    append(root / "gold_runs", run=9, is_done=True, audited_through=1, through_batch=3)
    assert events_to_read(str(root), is_audited=False) == 0
    assert (events_to_read(str(root), is_audited=True) or 0) > 7, "batch 2 is not audited"


def test_what_is_not_known_without_spark_is_not_counted(root: Path) -> None:
    assert events_to_read("s3a://lake/tables", is_audited=True) is None
    shutil.rmtree(root / "gold_runs")
    assert events_to_read(str(root), is_audited=True) is None
