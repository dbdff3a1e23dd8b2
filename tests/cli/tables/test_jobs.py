"""`oncegate gaps` and the other commands on tables: their exit codes for a script."""

from typing import Any

import pytest

from cloud_jobs import operations
from gateway.cli.main import run
from gateway.cli.tables import jobs


@pytest.mark.parametrize(("count", "code"), [(0, 0), (2, 4)])
def test_gaps_have_an_exit_code_of_their_own(
    count: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(root: str, _: object, *, gateway: str | None) -> dict[str, Any]:
        return {"tables_root": root, "gaps_count": count, "missing": 0, "gaps": []}

    monkeypatch.setattr(jobs, "set_up_spark", lambda: None)
    monkeypatch.setattr(operations, "gaps", found)
    assert run(["gaps", "--tables", "/t", "--json"]) == code
    assert f'"gaps_count": {count}' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("batches", "words"), [(0, "nothing new"), (1, "1 new batch"), (1200, "1,200 new batches")]
)
def test_gold_prints_which_batches_it_took(
    batches: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(root: str, _: object, *, is_audited: bool) -> dict[str, Any]:
        return {
            "tables_root": root,
            "batches": batches,
            "through_batch": 7,
            "is_audited": is_audited,
        }

    monkeypatch.setattr(jobs, "set_up_spark", lambda: None)
    monkeypatch.setattr(operations, "gold", made)
    assert run(["gold", "--tables", "/t"]) == 0
    assert f"up to batch 7 ({words})" in capsys.readouterr().out


def test_a_horizon_below_a_day_is_wrong_usage() -> None:
    assert run(["vacuum", "--tables", "/t", "--keep-days", "0"]) == 2
