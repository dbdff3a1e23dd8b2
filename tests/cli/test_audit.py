"""`oncegate audit`: what an operator sees, and the exit code that a script sees."""

import json
from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.laws.cases import CASES


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
def test_the_verdict_stands_first_and_is_the_exit_code(
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
    assert {one["law"] for one in result["exceptions"]} == {"delivery", "held_once"}
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
