"""What an audit found, for a terminal."""

from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.laws.cases import CASES, Case, Log


def test_a_client_id_cannot_paint_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(one for one in CASES if one.name == "held and forgotten")
    hostile = {"client_id": "[red]\x1b[31m"}
    log: Log = [[event | hostile for event in events or ()] for events in case.log]
    Case(case.name, log).land(tmp_path)
    assert run(["audit", "--segments", str(tmp_path)]) == 3
    assert "\x1b" not in capsys.readouterr().out
