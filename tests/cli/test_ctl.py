"""`oncegate ctl` against a peer that speaks the control protocol with recorded answers."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.main import run

SESSION = {
    "client_id": "probe\x1b[31m-1",
    "session": 5,
    "connected": True,
    "clean": False,
    "protocol": 4,
    "address": "127.0.0.1:53122",
    "inflight": 1,
    "awaiting_release": 0,
    "queued_messages": 3,
    "dropped_messages": 0,
    "received_messages": 12,
    "delivered_messages": 40,
    "subscriptions": [{"filter": "[bold]a/#", "qos": 2}],
}
STATUS = {
    "gateway": "gw-1",
    "version": "0.1.0",
    "state": "running",
    "time_ms": 1_795_252_443_000,
    "clock": "unsynchronised",
    "uptime_seconds": 12.5,
    "listeners": [{"protocol": "mqtt", "bind": "127.0.0.1", "port": 1883}],
    "connections": {"open": 3, "accepted": 10},
    "messages": {"received": {"qos2": 3}, "duplicates_suppressed": 7},
    "journal": {"commit_ms_mean": 1.1},
    "warnings": ["the card is full"],
}
Answer = Callable[[dict[str, Any]], bytes]


class Peer:
    """A Unix socket at which a thread answers each line with what `answer` makes of it."""

    def __init__(self, directory: Path) -> None:
        self.questions: list[dict[str, Any]] = []
        self.answer: Answer = lambda question: good({})
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(directory / "control.sock"))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    question = json.loads(line)
                    self.questions.append(question)
                    connection.sendall(self.answer(question))

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()


def good(result: object) -> bytes:
    return json.dumps({"ok": True, "result": result}).encode() + b"\n"


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    monkeypatch.setenv("ONCEGATE_GATEWAY_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    peer = Peer(tmp_path)
    yield peer
    peer.close()


def test_status_shows_numbers_and_warnings(peer: Peer, capsys: pytest.CaptureFixture[str]) -> None:
    peer.answer = lambda question: good(STATUS)
    assert run(["ctl", "status"]) == 0
    shown = capsys.readouterr().out
    for text in ("the card is full", "gw-1", "mqtt 127.0.0.1:1883", "qos2 3", "7 suppressed"):
        assert text in shown
    assert "2026-11-21 09:14:03 UTC, unsynchronised" in shown


def test_status_for_programs_is_the_answer_itself(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: good(STATUS)
    assert run(["ctl", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == STATUS


def test_sessions_are_read_page_by_page(peer: Peer, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(question: dict[str, Any]) -> bytes:
        if "after" in question:
            return good({"sessions": [SESSION | {"client_id": "z"}], "next": None})
        return good({"sessions": [SESSION], "next": "probe"})

    peer.answer = answer
    assert run(["ctl", "sessions", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["sessions"]
    assert [session["client_id"] for session in found] == [SESSION["client_id"], "z"]
    assert [question.get("after") for question in peer.questions] == [None, "probe"]


def test_a_client_id_can_neither_colour_the_terminal_nor_be_markup(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: good({"sessions": [SESSION], "next": None})
    assert run(["ctl", "sessions"]) == 0
    peer.answer = lambda question: good(SESSION)
    assert run(["ctl", "session", "x"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "probe\\x1b[31m-1" in shown
    assert "[bold]a/#" in shown


@pytest.mark.parametrize("verb", ["kick", "drop"])
def test_kick_and_drop_name_the_client(
    verb: str, peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ctl", verb, "probe"]) == 0
    assert peer.questions == [{"command": verb, "client_id": "probe"}]
    assert "'probe'" in capsys.readouterr().out


def test_reload_says_what_changed_and_what_needs_a_restart(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: good(
        {"changed": ["mqtt.max_inflight"], "needs_restart": ["listeners"]}
    )
    assert run(["ctl", "reload"]) == 0
    shown = capsys.readouterr().out
    assert "changed: mqtt.max_inflight" in shown
    assert "needs a restart of the broker: listeners" in shown


@pytest.mark.parametrize(
    "command", [["kick", "probe"], ["drop", "probe"], ["reload"]], ids=" ".join
)
def test_what_acts_prints_the_answer_itself_for_programs(
    command: list[str], peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: good({"changed": [], "command": question["command"]})
    assert run(["ctl", *command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"changed": [], "command": command[0]}


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
