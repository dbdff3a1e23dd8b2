"""Log lines have one format, and no text from outside breaks a line."""

import logging
from pathlib import Path

import pytest
from systemd import journal

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.server.host import clock
from gateway.cli.running import logs
from gateway.cli.running.logs import Lines


def record(message: str, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("room", level, "file", 1, message, None, None)


@pytest.fixture(autouse=True)
def synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "quality", lambda: ClockQuality.SYNCHRONISED)


def test_a_line_names_time_process_and_level() -> None:
    line = Lines("bridge", for_journal=False).format(record("port lost"))
    assert line[19:] == " bridge  warning: port lost"
    assert "info" not in Lines("bridge", for_journal=False).format(record("x", logging.INFO))


def test_a_time_that_the_kernel_does_not_trust_has_a_question_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "quality", lambda: ClockQuality.UNSYNCHRONISED)
    line = Lines("bridge", for_journal=False).format(record("port lost"))
    assert line[19:] == "? bridge  warning: port lost"


def test_under_systemd_a_line_carries_its_priority() -> None:
    formatter = Lines("bridge", for_journal=True)
    assert formatter.format(record("port lost")) == "<4>port lost"
    assert formatter.format(record("gone", logging.ERROR)) == "<3>gone"


def test_text_from_outside_neither_breaks_a_line_nor_colours_it() -> None:
    line = Lines("broker", for_journal=True).format(record("client a\nb\x1b[31m\u202ec"))
    assert line == "<4>client a\\nb\\x1b[31m\\u202ec"


def test_a_number_of_the_system_is_left_out_before_its_own_words() -> None:
    formatter = Lines("bridge", for_journal=True)
    assert formatter.format(record(f"no connection: {OSError(24, 'Too many open files')}")) == (
        "<4>no connection: Too many open files"
    )


def test_the_journal_is_given_fields_to_search_for() -> None:
    sent: list[dict[str, object]] = []

    def collect(text: str, /, **fields: object) -> None:
        sent.append({"MESSAGE": text, **fields})

    handler = journal.JournalHandler(sender_function=collect, ONCEGATE_PROCESS="broker")
    logger = logging.getLogger("tests.journal")
    logger.propagate = False
    logger.addHandler(handler)
    logger.warning("client %r: queue full", "pump-3", extra={"CLIENT_ID": "pump-3"})
    (entry,) = sent
    assert entry["MESSAGE"] == "client 'pump-3': queue full"
    assert (entry["ONCEGATE_PROCESS"], entry["CLIENT_ID"]) == ("broker", "pump-3")
    assert str(entry["PRIORITY"]) == "4"


def test_a_message_in_the_journal_is_the_message_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    socket = tmp_path / "socket"
    socket.touch()
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    monkeypatch.setattr(logs, "JOURNAL_SOCKET", str(socket))
    handlers = logging.root.handlers[:]
    try:
        logs.start("broker", verbose=False, quiet=False)
        (handler,) = logging.root.handlers
    finally:
        logging.root.handlers = handlers
    assert isinstance(handler, journal.JournalHandler)
    assert handler.format(record("client a\nb")) == "client a\\nb"


def test_without_a_journal_to_reach_lines_go_to_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    monkeypatch.setattr(logs, "JOURNAL_SOCKET", str(tmp_path / "none"))
    handlers = logging.root.handlers[:]
    try:
        logs.start("broker", verbose=False, quiet=False)
        logging.getLogger("tests.lines").warning("careful")
    finally:
        logging.root.handlers = handlers
    assert capsys.readouterr().err == "<4>careful\n"
