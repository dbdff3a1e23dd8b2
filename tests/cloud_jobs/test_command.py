"""The commands for spark-submit: their options, results and exit codes."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pytest

from cloud_jobs import command, operations
from cloud_jobs import main as job
from cloud_jobs.errors import IngestError, KeysFileError, TablesBusyError
from cloud_jobs.settings import IngestSettings


def test_what_a_verb_was_given_reaches_its_work_and_its_result_is_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: dict[str, Any] = {}

    def requeue(root: str, _: object, **chosen: Any) -> dict[str, Any]:
        given.update(chosen)
        return {"tables_root": root, "segments": 1}

    monkeypatch.setattr(operations, "requeue", requeue)
    assert command.main(["requeue", "--tables", "s3a://lake/t", "--reason", "version"]) == 0
    assert given == {"reason": "version", "gateway": None}
    assert json.loads(capsys.readouterr().out) == {"tables_root": "s3a://lake/t", "segments": 1}


@pytest.mark.parametrize(
    ("error", "code"),
    [(IngestError("a"), 1), (KeysFileError("b"), 2), (TablesBusyError("c"), 5)],
)
def test_a_failure_is_a_line_and_its_exit_code(
    error: IngestError,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def gaps(*_: object, **__: object) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(operations, "gaps", gaps)
    assert command.main(["gaps", "--tables", "t"]) == code
    assert capsys.readouterr().err == f"oncegate gaps: {error}\n"


def test_gaps_and_an_unknown_verb_have_their_exit_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "gaps", lambda *_, **__: {"gaps_count": 3})
    assert command.main(["gaps", "--tables", "t"]) == 4
    with pytest.raises(SystemExit, match="2"):
        command.main(["gape"])


def test_ingest_with_gold_and_without_its_audit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = list[IngestSettings]()

    def run(settings: IngestSettings, _: object) -> NoReturn:
        given.append(settings)
        raise IngestError("stop")

    monkeypatch.setattr(job, "run", run)
    places = ["ingest", "--source", "s", "--tables", "t"]
    for chosen in ([], ["--gold"], ["--gold", "--no-audit"]):
        command.main(places + chosen)
    assert [(one.is_gold_updated, one.is_audited) for one in given] == [
        (False, True), (True, True), (True, False),
    ]  # fmt: skip
    with pytest.raises(SystemExit, match="2"):
        command.main([*places, "--no-audit"])
    assert "--no-audit belongs to --gold: add --gold" in capsys.readouterr().err
