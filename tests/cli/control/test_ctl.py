"""`oncegate ctl` against a peer that speaks the control protocol with recorded answers."""

import json
from typing import Any

import pytest

from gateway.cli.main import run
from tests.cli.peer import SESSION, Peer
from tests.peers.control_server import result

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
    "warnings": [
        {"id": "disk_full", "subject": "disk", "sentence": "the card is full", "fix": "Free space."}
    ],
}


def test_status_shows_numbers_and_warnings(peer: Peer, capsys: pytest.CaptureFixture[str]) -> None:
    peer.answer = lambda question: result(STATUS)
    assert run(["ctl", "status"]) == 0
    shown = capsys.readouterr().out
    for text in ("the card is full", "gw-1", "mqtt 127.0.0.1:1883", "qos2 3", "7 suppressed"):
        assert text in shown
    assert "2026-11-21 09:14:03 UTC, unsynchronised" in shown


def test_status_for_programs_is_the_answer_itself(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: result(STATUS)
    assert run(["ctl", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == STATUS


def test_sessions_are_read_page_by_page(peer: Peer, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(question: dict[str, Any]) -> bytes:
        if "after" in question:
            return result({"sessions": [SESSION | {"client_id": "z"}], "next": None})
        return result({"sessions": [SESSION], "next": "probe"})

    peer.answer = answer
    assert run(["ctl", "sessions", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["sessions"]
    assert [session["client_id"] for session in found] == [SESSION["client_id"], "z"]
    assert [question.get("after") for question in peer.questions] == [None, "probe"]


@pytest.mark.parametrize("verb", ["kick", "drop"])
def test_kick_and_drop_name_the_client(
    verb: str, peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ctl", verb, "probe"]) == 0
    assert peer.questions == [{"command": verb, "client_id": "probe"}]
    assert "'probe'" in capsys.readouterr().out


def test_reload_states_what_changed_and_what_needs_a_restart(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: result(
        {
            "changed": ["listeners", "mqtt.max_packet_size"],
            "new_connections": ["mqtt.max_packet_size"],
            "processes": {"bridge": ["bridge.window", "serial"]},
            "needs_restart": ["gateway.data_dir"],
            "connections_ended": 2,
        }
    )
    assert run(["ctl", "reload"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "changed: listeners, mqtt.max_packet_size",
        "of these for new connections: mqtt.max_packet_size",
        "connections ended: 2",
        "needs a restart of oncegate-bridge: bridge.window, serial",
        "needs a restart of the gateway: gateway.data_dir",
    ]


@pytest.mark.parametrize(
    "command", [["kick", "probe"], ["drop", "probe"], ["reload"]], ids=" ".join
)
def test_what_acts_prints_the_answer_itself_for_programs(
    command: list[str], peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: result({"changed": [], "command": question["command"]})
    assert run(["ctl", *command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"changed": [], "command": command[0]}
