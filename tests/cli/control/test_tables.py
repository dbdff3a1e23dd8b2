"""Tables with the broker's reports: names are shown as plain text, never as markup."""

import io
from typing import Any

import pytest
from rich.console import Console, RenderableType

from gateway.cli.control.tables import session_tables, sessions_table, status_table
from gateway.cli.main import run
from tests.cli.peer import SESSION, Peer
from tests.peers.control_server import result


def test_a_client_id_can_neither_colour_the_terminal_nor_be_markup(
    peer: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.answer = lambda question: result({"sessions": [SESSION], "next": None})
    assert run(["ctl", "sessions"]) == 0
    peer.answer = lambda question: result(SESSION)
    assert run(["ctl", "session", "x"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "probe\\x1b[31m-1" in shown
    assert "[bold]a/#" in shown


def drawn(table: RenderableType) -> str:
    screen = io.StringIO()
    Console(file=screen, width=160).print(table)
    return screen.getvalue()


def test_a_status_of_an_older_broker_has_gaps_and_no_error() -> None:
    shown = drawn(status_table({}))
    for name in ("gateway", "listeners", "connections", "journal", "disk", "store"):
        assert name in shown
    assert "up ?" in shown
    assert "unknown" in shown


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"uptime_seconds": 90_061.9}, "up 1 d 01:01:01"),
        ({"listeners": [{"protocol": "mqtt", "bind": "::1", "port": 1883}]}, "mqtt [::1]:1883"),
        ({"listeners": [{"protocol": "unix", "path": "/run/x"}]}, "unix /run/x"),
        (
            {
                "listeners": [
                    {"protocol": "wss", "bind": "::1", "port": 1, "path": "/mqtt"}
                    | {"certificate": {"days_left": 9}}
                ]
            },
            "wss [::1]:1/mqtt (certificate for 9 days)",
        ),
        ({"journal": {"commit_ms_mean": 1.5, "bytes": 7}}, "commit ms mean 1.5, bytes 7"),
        ({"disk": {"total_bytes": 8 << 20, "free_bytes": 3 << 20}}, "3 MiB of 8 free"),
        (
            {"disk": {"total_bytes": 8 << 20, "free_bytes": 0, "full": True}},
            "0 MiB of 8 free; full: no new messages are accepted",
        ),
        ({"warnings": [{"sentence": "[red]a\x1b", "fix": "b"}]}, "[red]a\\x1b b"),
    ],
)
def test_each_fact_of_a_status_is_shown_with_its_unit(answer: dict[str, Any], words: str) -> None:
    assert words in drawn(status_table(answer))


def test_a_table_within_a_status_is_left_to_programs() -> None:
    answer = {"journal": {"batches": 2, "commit_histogram": {"bounds_ms": [0.1], "counts": [2]}}}
    assert "bounds" not in drawn(status_table(answer))


def test_sessions_have_a_line_each_and_a_note_where_there_are_more() -> None:
    away = {"client_id": "b", "connected": False, "clean": True}
    shown = drawn(sessions_table({"sessions": [SESSION, away], "next": "b"}))
    assert "127.0.0.1 " in shown
    assert "away" in shown
    assert "more sessions exist: raise --limit" in shown
    assert "more sessions exist" not in drawn(sessions_table({"sessions": [], "next": None}))


def test_the_list_of_sessions_fits_into_80_columns_with_its_highest_numbers() -> None:
    numbers = dict.fromkeys(
        ("queued_messages", "dropped_messages", "received_messages", "delivered_messages"),
        1_234_567_890,
    )
    session = SESSION | numbers | {"address": "192.168.178.122:53122", "awaiting_release": 1_000}
    screen = io.StringIO()
    Console(file=screen, width=80).print(sessions_table({"sessions": [session], "next": None}))
    assert screen.getvalue().count("1.2G") == len(numbers)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (99_999, "99999"),
        (100_000, "100k"),
        (999_999, "1000k"),
        (1_000_000, "1.0M"),
        (123_456_789, "123M"),
    ],
)
def test_a_large_count_is_shown_in_five_characters(number: int, text: str) -> None:
    away = {"client_id": "b", "queued_messages": number}
    assert f" {text} " in drawn(sessions_table({"sessions": [away], "next": None}))


def test_a_session_has_its_subscriptions_and_what_is_in_flight() -> None:
    flight = [{"packet_id": 7, "message": 12, "qos": 2, "state": "awaiting PUBCOMP"}]
    shown = drawn(session_tables(SESSION | {"inflight": flight}))
    assert "delivered messages" in shown
    assert "[bold]a/#" in shown
    assert "awaiting PUBCOMP" in shown
