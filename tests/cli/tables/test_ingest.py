"""`oncegate ingest`: the set-up before the Spark job, and the exit code."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs import main as job
from cloud_jobs.report import IngestReport
from cloud_jobs.settings import IngestSettings
from gateway.cli.main import run
from gateway.cli.tables import ingest
from tests.cli.reports import REPORT


def test_outside_of_a_source_tree_it_states_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cloud_jobs.spark.java.JAVA_VERSIONS", (99,))
    monkeypatch.setattr("sys.prefix", "/usr")
    assert run(["ingest"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "openjdk-17-jre-headless" in line
    assert "./oncegate-VERSION-PLATFORM.whl[cloud]" in line


def test_a_file_url_is_its_directory_and_other_urls_stay() -> None:
    assert ingest._directory_of("file:///srv/a%20b") == "/srv/a b"
    assert ingest._directory_of("s3://bucket/prefix") == "s3://bucket/prefix"


@pytest.mark.parametrize(("gaps_count", "code"), [(0, 0), (7, 4)])
def test_ingest_ends_with_4_where_the_tables_have_gaps(
    gaps_count: int, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def finished(*_: Any) -> IngestReport:
        return dataclasses.replace(REPORT, gaps_count=gaps_count)

    monkeypatch.setattr(job, "run", finished)
    monkeypatch.setattr(ingest, "set_up_spark", lambda: None)
    assert run(["ingest", "--data-dir", str(tmp_path)]) == code


def test_ingest_with_gold_passes_on_what_to_do_and_prints_the_result_as_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def finished(settings: IngestSettings, _: Any) -> IngestReport:
        gold = {"batches": 1, "is_audited": settings.is_audited}
        return dataclasses.replace(REPORT, gold=gold if settings.is_gold_updated else None)

    monkeypatch.setattr(job, "run", finished)
    monkeypatch.setattr(ingest, "set_up_spark", lambda: None)
    command = ["ingest", "--data-dir", str(tmp_path), "--json"]
    found = []
    for chosen in ([], ["--gold"], ["--gold", "--no-audit"]):
        run(command + chosen)
        found.append(json.loads(capsys.readouterr().out)["gold"])
    assert found == [
        None, {"batches": 1, "is_audited": True}, {"batches": 1, "is_audited": False},
    ]  # fmt: skip
    assert run([*command, "--no-audit"]) == 2
    assert "--no-audit belongs to --gold: add --gold" in capsys.readouterr().err


def test_a_mistake_in_the_keys_file_is_one_line_and_wrong_usage_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ingest, "set_up_spark", lambda: None)
    (tmp_path / "keys").write_text("gw-1 nonsense\n")
    options = ["--source", str(tmp_path), "--keys", str(tmp_path / "keys")]
    assert run(["ingest", "--data-dir", str(tmp_path / "data"), *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert "keys, line 1: 'nonsense' is no public key" in line
