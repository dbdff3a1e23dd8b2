"""`--json` prints one object on stdout and nothing else, with the keys in docs/commands.md."""

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from cloud_jobs import main as job
from cloud_jobs.report import Gap, GatewayRange, IngestReport, RepeatedStart, TableCount
from gateway.cli.application import application_of
from gateway.cli.common.output import show
from gateway.cli.control.ctl import application as ctl
from gateway.cli.main import run
from gateway.cli.tables import ingest
from gateway.configuration import load
from gateway.tools.audit.findings import Finding, Findings
from gateway.tools.bench.result import Faults, Reading, Result
from gateway.tools.bench.scenario import Scenario
from tests.cli.reports import REPORT

PAGE = Path(__file__).resolve().parents[3] / "docs" / "commands.md"
WITHOUT_A_RESULT = {
    "up", "broker", "bridge", "api", "upload", "simulate-board", "uplink", "passwd", "id", "update",
}  # fmt: skip
FULL_REPORT = dataclasses.replace(
    REPORT,
    tables={"events": TableCount(9, 3, 1)},
    quarantine={("segment", "cut"): 1, ("line", "not JSON"): 2},
    gateways=[GatewayRange("gw-1", 2, 3, 1, 9, 8, 0)],
    gateways_count=1,
    gaps=[Gap("gw-1", "chain", 7, None, None, "missing")],
    gaps_count=1,
    repeated_starts=[RepeatedStart("gw-1", "board-1", 2)],
)


def documented(verb: str) -> dict[str, str]:
    """Return the keys of a command's object in the page, each with its description."""
    section = PAGE.read_text().split(f"\n### {verb}\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", section, re.MULTILINE)
    return {key: words for names, words in rows for key in re.findall(r"`(\w+)`", names)}


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def report(_: Any, say: Any) -> IngestReport:
        say("counting")
        return FULL_REPORT

    monkeypatch.setattr(job, "run", report)
    monkeypatch.setattr(ingest, "set_up_spark", lambda: None)


def test_every_verb_that_prints_a_result_has_the_option() -> None:
    commands = [*application_of().registered_commands, *ctl.registered_commands]
    named = {command.name or command.callback.__name__: command for command in commands}  # type: ignore[union-attr]
    assert set(named) > WITHOUT_A_RESULT
    for name, command in named.items():
        assert command.callback is not None
        has_option = "as_json" in command.callback.__annotations__
        assert has_option is (name not in WITHOUT_A_RESULT), name


def test_check_config_prints_every_key_as_a_file_would_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(
        '[mqtt]\nconnect_timeout = "1500ms"\n[[serial]]\nname = "a"\npath = "/dev/x"\n'
        'framing = "csv"\ncolumns = ["t", "_"]\nunits = {t = "Cel"}\n'
    )
    assert run(["check-config", "--json", "--config", str(file)]) == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert shown.err == ""
    assert set(document) == set(documented("check-config"))
    assert document["file"] == str(file)
    configuration = document["configuration"]
    assert configuration["mqtt"]["connect_timeout"] == "1.5s"
    assert configuration["mqtt"]["max_session_expiry"] == "never"
    assert configuration["mqtt"]["max_inflight"] == 32
    assert configuration["serial"][0]["columns"] == ["t", "_"]
    assert configuration["bridge"]["broker"] is None
    again = {
        section: {key: value for key, value in keys.items() if value is not None}
        for section, keys in configuration.items()
        if isinstance(keys, dict)
    }
    file.write_text(toml_of(again))
    assert load(file, {}, {}, None).mqtt.connect_timeout == 1.5


def toml_of(tables: dict[str, dict[str, Any]]) -> str:
    text = "".join(
        f"[{section}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
        for section, keys in tables.items()
    )
    tomllib.loads(text)
    return text


def test_a_mistake_leaves_stdout_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check-config", "--json", "--config", str(tmp_path / "missing")]) == 2
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 1)


@pytest.mark.usefixtures("finished")
def test_ingest_prints_the_whole_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ingest", "--json", "--data-dir", str(tmp_path)]) == 4
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert "counting" in shown.err
    keys = documented("ingest")
    assert set(document) == set(keys)
    assert document["tables"] == {"events": {"rows": 9, "changed": 3, "duplicates": 1}}
    assert document["quarantine"][0] == {"kind": "line", "reason": "not JSON", "rows": 2}
    for name in ("quarantine", "gateways", "gaps", "repeated_starts"):
        assert all(f"`{key}`" in keys[name] for key in document[name][0]), name


def test_the_page_has_the_keys_of_an_audit() -> None:
    findings = Findings("log")
    findings.add(Finding("violation", "held_once", "gw-1", "s", "twice"))
    document = findings.as_json()
    keys = documented("audit")
    assert set(document) == set(keys)
    assert all(f"`{field.name}`" in keys["exceptions"] for field in dataclasses.fields(Finding))


def test_the_page_has_the_keys_of_a_load() -> None:
    reading = Reading(seconds=0.0, sent=0, completed=0, received=0, cpu_seconds=0.0, broker=None)
    result = Result(
        scenario=Scenario(host="h", port=1),
        start=reading,
        stop=dataclasses.replace(reading, seconds=1.0),
        end=reading,
        faults=Faults(lost=0, duplicates=0, late=0, foreign=0, refused=0, unfinished=0),
        stalls=0,
        window_used=1,
        delivery_ms={},
        acknowledgement_ms={},
        delivery_curve_ms=[],
        acknowledgement_curve_ms=[],
        timeline=[],
    )
    keys = documented("bench")
    assert {*result.as_json(), "fsync_ms"} == set(keys)
    assert all(f"`{field.name}`" in keys["faults"] for field in dataclasses.fields(Faults))


@pytest.mark.parametrize(
    ("drawn", "shown"), [("a verdict [bold]", "a verdict [bold]\n"), (Text("[x]"), "[x]\n")]
)
def test_without_json_a_document_is_shown_as_it_is_drawn(
    drawn: Any, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show({"a": 1}, lambda document: drawn, as_json=False)
    assert capsys.readouterr().out == shown


def test_for_programs_a_document_is_one_line_and_is_not_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show({"a": "\u00e4\n"}, lambda document: 1 / 0, as_json=True)  # type: ignore[arg-type,return-value]
    assert capsys.readouterr().out == '{"a": "\\u00e4\\n"}\n'
