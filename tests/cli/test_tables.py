"""Tables of what the broker says about itself: every name as text, nothing as markup."""

import pytest

from gateway.cli.main import run
from tests.cli.peer import SESSION, Peer, good


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
