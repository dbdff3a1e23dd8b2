"""The findings of an audit as a report for a terminal."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gateway.cli.main import run
from gateway.cli.tools.audit_report import EXCEPTIONS_SHOWN_MAX, render
from tests.audit_checks.cases import CASES, Case, Log


def test_a_client_id_cannot_paint_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(one for one in CASES if one.name == "held and forgotten")
    hostile = {"client_id": "[red]\x1b[31m"}
    log: Log = [[event | hostile for event in events or ()] for events in case.log]
    Case(case.name, log).land(tmp_path)
    assert run(["audit", "--segments", str(tmp_path)]) == 3
    assert "\x1b" not in capsys.readouterr().out


def exception(number: int, verdict: str = "inconclusive", **changes: Any) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "check": "delivery",
        "message": number,
        "session": None,
        "client_id": "",
        "sequences": [number, number + 1],
        "detail": f"no {number}",
        "segment": None,
    } | changes


def drawn(exceptions: list[dict[str, Any]], verdict: str = "inconclusive", **counts: int) -> str:
    violations = sum(1 for one in exceptions if one["verdict"] == "violation")
    result = {
        "verdict": verdict,
        "source": "var",
        "counts": {"events": 7} | counts,
        "exceptions": exceptions,
        "violations": violations,
        "inconclusive": len(exceptions) - violations,
        "seconds": 1.25,
    }
    screen = io.StringIO()
    Console(file=screen, width=120).print(render(result))
    return screen.getvalue()


def test_a_log_without_events_is_no_proof_of_anything() -> None:
    assert "is this the right directory?" in drawn([], "ok", events=0)
    assert "is this the right directory?" not in drawn([], "ok")


def test_violations_come_before_what_is_inconclusive() -> None:
    shown = drawn([exception(5), exception(6, "violation")], "violation")
    assert "1 violation, 1 inconclusive" in shown
    assert shown.index("no 6") < shown.index("no 5")
    assert "6-7" in shown


def test_as_many_exceptions_are_shown_as_help_a_person_and_the_rest_is_counted() -> None:
    full = [exception(number) for number in range(100, 100 + EXCEPTIONS_SHOWN_MAX)]
    assert "more are not shown" not in drawn(full)
    shown = drawn([*full, exception(500), exception(501)])
    assert "2 more are not shown: --json" in shown
    assert "no 500" not in shown


def test_counts_of_nothing_are_left_out_except_those_of_what_was_examined() -> None:
    shown = drawn([], "ok", held=0, refused=0, dropped=1_234)
    assert "held once (QoS 2)" in shown
    assert "refused by the client" not in shown
    assert "1,234" in shown


def test_control_characters_and_markup_are_shown_as_text() -> None:
    shown = drawn([exception(1, session=3, client_id="[red]\x1b[31m", detail="a\u202eb")])
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[red]" in shown.replace("\n", "")
    assert "a\\u202eb" in shown
