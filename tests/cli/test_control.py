"""Whatever the broker answers or does not, the verb ends with one line and its exit code."""

import json
from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.cli.peer import Peer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b'{"ok":false,"error":{"code":"not_found","message":"no session"}}\n', "no session"),
        (b"[1]\n", "no answer of the control protocol"),
        (b"\xff\n", "no answer of the control protocol"),
        (b"[" * 100_000 + b"\n", "no answer of the control protocol"),
        (b'{"ok":false}\n', "no answer of the control protocol"),
        (b'{"ok":true,"result":3}\n', "no answer of the control protocol"),
    ],
)
def test_an_answer_that_is_none_is_one_line_and_exit_code_1(
    answer: bytes, message: str, peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: answer
    assert run(["ctl", "session", "x"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_reload_of_a_wrong_configuration_has_the_exit_code_of_check_config(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    error = {"code": "failed", "message": "the configuration stays as it was: [mqtt] x"}
    peer.answer = lambda question: json.dumps({"ok": False, "error": error}).encode() + b"\n"
    assert run(["ctl", "reload"]) == 2
    assert capsys.readouterr().err == "the configuration stays as it was: [mqtt] x\n"


def test_without_a_broker_the_mend_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ctl", "status", "--data-dir", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "no broker answers at" in line
    assert "--data-dir" in line
