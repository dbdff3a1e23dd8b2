"""Whatever the broker's response is, the command ends with one line and its exit code."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.common.failures import CommandFailed
from gateway.cli.control import client
from gateway.cli.control.client import ask
from gateway.cli.main import run
from gateway.process.control.messages import LINE_BYTES_MAX
from tests.cli.peer import Peer
from tests.peers.control_server import result


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b'{"ok":false,"error":{"code":"not_found","message":"no session"}}\n', "no session"),
        (b"[1]\n", "did not answer as the control protocol requires"),
        (b"\xff\n", "did not answer as the control protocol requires"),
        (b"[" * 100_000 + b"\n", "did not answer as the control protocol requires"),
        (b'{"ok":false}\n', "did not answer as the control protocol requires"),
        (b'{"ok":true,"result":3}\n', "did not answer as the control protocol requires"),
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


def test_without_a_broker_the_fix_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ctl", "status", "--data-dir", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "no broker answers at" in line
    assert "--data-dir" in line


def test_the_arguments_of_a_command_are_sent_beside_it(peer: Peer, tmp_path: Path) -> None:
    peer.answer = lambda question: result({"kicked": question["client_id"]})
    assert ask(tmp_path / "control.sock", "kick", client_id="a\nb") == {"kicked": "a\nb"}
    assert peer.questions == [{"command": "kick", "client_id": "a\nb"}]


def test_a_broker_that_does_not_answer_in_time_is_not_waited_for(
    peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_enough = threading.Event()

    def silent(_: dict[str, Any]) -> bytes:
        asked_enough.wait(30)
        return b""

    peer.answer = silent
    monkeypatch.setattr(client, "ANSWER_SECONDS_MAX", 0.1)
    try:
        with pytest.raises(CommandFailed, match=r"did not answer within 0\.1 s"):
            ask(tmp_path / "control.sock", "status")
    finally:
        asked_enough.set()


def test_a_path_that_no_socket_can_have_is_said_with_the_key_to_set(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 200) / "control.sock"
    with pytest.raises(CommandFailed, match=r"at most 107 bytes; set \[gateway\] control_dir"):
        ask(path, "status")


def test_a_request_that_no_line_holds_is_refused_before_it_is_sent(
    peer: Peer, tmp_path: Path
) -> None:
    with pytest.raises(CommandFailed, match="session: the request is longer than"):
        ask(tmp_path / "control.sock", "session", client_id="x" * LINE_BYTES_MAX)
    assert peer.questions == []


def test_a_user_without_the_right_to_ask_reads_how_to_get_it(peer: Peer, tmp_path: Path) -> None:
    (tmp_path / "control.sock").chmod(0)
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom gateway.cli.control.client import ask\n"
        "if os.geteuid() == 0:\n    os.seteuid(65534)  # root may ask every broker\n"
        "ask(Path(sys.argv[1]), 'status')\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "control.sock")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "use sudo or join its group" in outcome.stderr
    assert peer.questions == []
