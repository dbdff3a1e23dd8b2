"""`oncegate audit`: its output for an operator, and its exit code for a script."""

import json
from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.audit_checks.cases import CASES
from tests.audit_checks.events import begin, life
from tests.contract.segments import OTHER_SEED, SEED, LogWriter, public_key_of


def land(directory: Path, *names: str) -> None:
    for case in CASES:
        if case.name in names:
            case.land(directory)


@pytest.mark.parametrize(
    ("case", "code", "word"),
    [
        ("every message accounted for", 0, "OK"),
        ("delivered twice", 3, "VIOLATION"),
        ("a gap while held", 4, "INCONCLUSIVE"),
    ],
)
def test_the_verdict_comes_first_and_is_the_exit_code(
    case: str, code: int, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    land(tmp_path, case)
    assert run(["audit", "--segments", str(tmp_path)]) == code
    shown = capsys.readouterr()
    assert shown.out.startswith(word)
    assert shown.err == ""


def test_json_names_every_exception(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    land(tmp_path, "delivered twice", "held and forgotten", "every message accounted for")
    assert run(["audit", "--segments", str(tmp_path), "--json"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert result["verdict"] == "violation"
    assert {one["check"] for one in result["exceptions"]} == {"delivery", "held_once"}
    assert all(one["segment"] and one["sequences"] for one in result["exceptions"])


@pytest.mark.parametrize("options", [[], ["--segments"]])
def test_a_directory_with_nothing_to_audit_is_one_line_and_a_failure(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "missing")
    assert run(["audit", *(options or ["--data-dir"]), missing]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert missing in line
    assert not Path(missing).exists()


def test_keys_decide_whose_segments_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LogWriter(seed=SEED)
    log.seal(begin(*life(1, 0))).write_to(tmp_path)
    keys = tmp_path / "keys"
    command = ["audit", "--segments", str(tmp_path), "--keys", str(keys)]
    keys.write_text(f"gw-1 {public_key_of(SEED)} hall\n")
    assert run(command) == 0
    assert public_key_of(SEED)[:8] in capsys.readouterr().out
    keys.write_text(f"gw-1 {public_key_of(OTHER_SEED)}\n")
    assert run([*command, "--json"]) == 4
    result = json.loads(capsys.readouterr().out)
    assert result["signatures"] == [
        {"gateway": "gw-1", "public_key": public_key_of(SEED), "segments": 1}
    ]


@pytest.mark.parametrize("options", [["--segments", "."], ["--tables", "."]])
def test_a_wrong_keys_file_or_one_for_tables_is_one_line_and_wrong_usage(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "keys").write_text("gw-1 nonsense\n")
    assert run(["audit", *options, "--keys", str(tmp_path / "keys")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "keys" in line
