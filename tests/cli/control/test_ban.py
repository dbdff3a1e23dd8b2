"""`oncegate ctl ban` against a peer that speaks the control protocol with recorded answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.main import run
from tests.cli.peer import Peer
from tests.peers.control_server import result

BAN = {
    "kind": "client",
    "value": "probe\x1b[31m-1",
    "reason": "scans us",
    "source": "operator",
    "since_ms": 1_795_252_443_000,
    "until_ms": None,
}


def test_a_ban_names_what_it_is_about_and_for_how_long(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: result({"banned": BAN, "ended": 2, "kept": True})
    arguments = ["--address", "192.0.2.0/24", "--for", "1h", "--reason", "scans us"]
    assert run(["ctl", "ban", "add", *arguments]) == 0
    assert peer.questions == [
        {
            "command": "ban",
            "kind": "address",
            "value": "192.0.2.0/24",
            "reason": "scans us",
            "seconds": 3600.0,
        }
    ]
    shown = capsys.readouterr().out
    assert "connections ended: 2" in shown
    assert "\x1b" not in shown
    assert "could not be written" not in shown


@pytest.mark.parametrize(
    ("arguments", "stopped"),
    [
        (["--client", "oncegate-bridge-0123abcd"], "own bridge."),
        (["--client", "oncegate-uplink-0123abcd"], "own uplink."),
        (["--client", "oncegate-bridges"], ""),
        (["--user", "oncegate-bridge"], ""),
        (["--address", "127.0.0.1"], "own bridge."),
        (["--address", "127.0.0.0/8"], "own bridge."),
        (["--address", "192.0.2.7"], ""),
        (["--address", "::1"], ""),
    ],
)
def test_a_ban_of_the_gateway_s_own_client_shows_what_it_stops(
    peer: Peer,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
    stopped: str,
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(
        '[uplink]\naddress = "upstream.example:8883"\ntls = {}\n'
        '[[uplink.topics]]\nfilter = "sensors/#"\ndirection = "out"\n'
    )
    peer.answer = lambda question: result({"banned": BAN, "ended": 1, "kept": True})
    assert run(["ctl", "ban", "add", *arguments, "--config", str(file)]) == 0
    shown = capsys.readouterr().out
    assert stopped in shown
    assert bool(stopped) is ("own" in shown)


def test_the_list_shows_a_long_client_id_as_a_whole(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    ban = BAN | {"value": "oncegate-bridge-0123456789-of-hall-3"}
    peer.answer = lambda question: result({"bans": [ban], "next": None})
    assert run(["ctl", "ban", "list"]) == 0
    assert "…" not in capsys.readouterr().out


def test_a_ban_that_is_not_on_disk_is_said_to_be_so(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: result({"banned": BAN, "ended": 0, "kept": False})
    assert run(["ctl", "ban", "add", "--user", "ann"]) == 0
    assert "is lost when the broker stops" in capsys.readouterr().out
    assert "seconds" not in peer.questions[0]


def test_the_list_is_read_page_by_page_and_shows_names_as_text(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(question: dict[str, Any]) -> bytes:
        if question["first"]:
            return result({"bans": [BAN | {"until_ms": 1_795_252_443_000}], "next": None})
        return result({"bans": [BAN], "next": 1})

    peer.answer = answer
    assert run(["ctl", "ban", "list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["bans"]) == 2
    assert run(["ctl", "ban", "list"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "scans" in shown
    peer.answer = lambda question: result({"bans": [], "next": None})
    assert run(["ctl", "ban", "list"]) == 0
    assert "no bans" in capsys.readouterr().out


def test_a_ban_is_lifted_by_what_it_is_about(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: result({"lifted": BAN, "kept": True})
    assert run(["ctl", "ban", "lift", "--client", "probe"]) == 0
    assert peer.questions == [{"command": "lift_ban", "kind": "client", "value": "probe"}]
    assert "lifted: client" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add"], "name one of --client, --user and --address"),
        (["lift", "--client", "a", "--user", "b"], "name one of"),
        (["add", "--client", "a", "--for", "5"], "a duration with its unit"),
    ],
)
def test_a_mistake_of_usage_is_one_line(
    arguments: list[str], message: str, peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ctl", "ban", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert peer.questions == []
