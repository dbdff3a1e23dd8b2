"""Tokens of programs: which ones are valid, and when a change of their file is noticed."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from api import limits
from api.login.tokens import Tokens
from gateway.process.files.token_file import HEADER, Token, new_token, read_tokens

DAY = "2026-11-24"


def write(path: Path, *tokens: Token) -> None:
    path.write_text("\n".join([HEADER, *(token.line for token in tokens), ""]))


@pytest.fixture(autouse=True)
def closed_files() -> Iterator[None]:
    """Set the umask so that tests' files are closed to other users, as secrets must be."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def test_a_token_is_found_by_its_text_and_not_by_what_is_kept_of_it(path: Path) -> None:
    text, token = new_token("dashboard", "viewer", DAY)
    other_text, other = new_token("backup", "operator", DAY)
    write(path, token, other)
    tokens = Tokens(path)
    assert tokens.find(text, 0.0) == token
    assert tokens.find(other_text, 0.0) == other
    for wrong in ("", text[:-1], text + "x", token.digest, token.line, "\ud800", "ogt_"):
        assert tokens.find(wrong, 0.0) is None
    assert text not in path.read_text()
    assert len(text) == len("ogt_") + 43
    assert read_tokens(path) == [token, other]


def test_a_token_that_was_removed_or_added_counts_so_within_a_second(path: Path) -> None:
    text, token = new_token("a", "viewer", DAY)
    new_text, new = new_token("b", "viewer", DAY)
    write(path, token)
    tokens = Tokens(path)
    assert tokens.find(text, 0.0) is not None
    path.unlink()
    write(path, new)
    later = limits.TOKENS_CHECK_SECONDS
    assert tokens.find(new_text, later / 2) is None, "the disk is not asked at each request"
    assert tokens.find(new_text, later) == new
    assert tokens.find(text, later) is None


def test_a_mistake_in_the_file_lets_no_token_count_and_is_logged_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text, token = new_token("a", "viewer", DAY)
    write(path, token)
    tokens = Tokens(path)
    assert tokens.find(text, 0.0) == token
    path.write_text(f"{token.line}\noops\n")
    for now in (10.0, 20.0, 30.0):
        assert tokens.find(text, now) is None
    path.unlink()
    assert tokens.find(text, 40.0) is None
    errors = [each.message for each in caplog.records if each.levelno == logging.ERROR]
    assert [("line 2" in each, "cannot be read" in each) for each in errors] == [
        (True, False),
        (False, True),
    ]
    write(path, token)
    assert tokens.find(text, 50.0) == token
