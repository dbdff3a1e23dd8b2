"""Log lines: one format, and nothing from outside breaks a line."""

import logging

from gateway.cli.logs import Lines


def record(message: str, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("room", level, "file", 1, message, None, None)


def test_a_line_names_time_process_and_level() -> None:
    line = Lines("bridge", for_journal=False).format(record("port lost"))
    assert line[19:] == " bridge  warning: port lost"
    assert "info" not in Lines("bridge", for_journal=False).format(record("x", logging.INFO))


def test_under_systemd_a_line_carries_its_priority() -> None:
    formatter = Lines("bridge", for_journal=True)
    assert formatter.format(record("port lost")) == "<4>port lost"
    assert formatter.format(record("gone", logging.ERROR)) == "<3>gone"


def test_text_from_outside_neither_breaks_a_line_nor_colours_it() -> None:
    line = Lines("broker", for_journal=True).format(record("client a\nb\x1b[31m\u202ec"))
    assert line == "<4>client a\\nb\\x1b[31m\\u202ec"
