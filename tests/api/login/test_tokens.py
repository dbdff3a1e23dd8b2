"""The file of tokens: what counts, and what is refused with its line."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from api import limits
from api.login.roles import Role
from api.login.tokens import HEADER, Token, Tokens, TokensFileError, new_token, read_tokens

DAY = "2026-11-24"


def write(path: Path, *tokens: Token) -> None:
    path.write_text("\n".join([HEADER, *(token.line for token in tokens), ""]))


@pytest.fixture(autouse=True)
def closed_files() -> Iterator[None]:
    """What a test writes is closed to others, as a file with secrets has to be."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def test_a_token_is_found_by_its_text_and_not_by_what_is_kept_of_it(path: Path) -> None:
    text, token = new_token("dashboard", Role.VIEWER, DAY)
    other_text, other = new_token("backup", Role.OPERATOR, DAY)
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
    text, token = new_token("a", Role.VIEWER, DAY)
    new_text, new = new_token("b", Role.VIEWER, DAY)
    write(path, token)
    tokens = Tokens(path)
    assert tokens.find(text, 0.0) is not None
    path.unlink()
    write(path, new)
    later = limits.TOKENS_LOOK_SECONDS
    assert tokens.find(new_text, later / 2) is None, "the disk is not asked at each request"
    assert tokens.find(new_text, later) == new
    assert tokens.find(text, later) is None


def test_a_mistake_in_the_file_lets_no_token_count_and_is_logged_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text, token = new_token("a", Role.VIEWER, DAY)
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


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("oops", "line 1: is not NAME:ROLE:DAY:HASH"),
        (f"a:viewer:{DAY}:{'0' * 63}", "line 1: is not"),
        (f"a:king:{DAY}:{'0' * 64}", "line 1: is not"),
        (f"a b:viewer:{DAY}:{'0' * 64}", "line 1: is not"),
        (f"a:viewer:{DAY}:{'0' * 64}\n" * 2, "line 2: a is listed twice"),
        (HEADER.replace("version 1", "version 2"), "newer version"),
        ("\xff", "line 1: is not"),
        ("#" * (limits.TOKENS_FILE_BYTES_MAX + 1), "longer than"),
        (
            "".join(f"t{n}:viewer:{DAY}:{n:064}\n" for n in range(limits.TOKENS_MAX + 1)),
            "more than 100 tokens",
        ),
    ],
)
def test_what_is_wrong_is_named(path: Path, content: str, problem: str) -> None:
    path.write_text(content, encoding="latin-1")
    with pytest.raises(TokensFileError) as refused:
        read_tokens(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert problem in str(refused.value)


def test_a_file_that_is_open_to_others_or_is_none_is_refused(path: Path) -> None:
    with pytest.raises(TokensFileError, match="oncegate api-token add"):
        read_tokens(path)
    path.write_text("")
    for mode in (0o602, 0o644, 0o641):
        path.chmod(mode)
        with pytest.raises(TokensFileError, match=f"mode {mode:04o} .*chmod 600 .*, or 640"):
            read_tokens(path)
    path.chmod(0o640)
    assert read_tokens(path) == []
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(TokensFileError, match="is not a file"):
        read_tokens(path)


@pytest.mark.parametrize("name", ["", "a b", "a:b", "x" * 65, "a\nb", "ä"])
def test_a_name_that_cannot_stand_in_the_file_is_refused(name: str) -> None:
    with pytest.raises(TokensFileError, match="cannot be a token's name"):
        new_token(name, Role.VIEWER, DAY)


def test_the_example_in_the_documentation_is_read(path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "formats" / "api-tokens.md"
    lines = [line[4:] for line in page.read_text().splitlines() if line.startswith("    ")]
    path.write_text("\n".join(lines))
    (token,) = read_tokens(path)
    assert (token.name, token.role, token.made) == ("dashboard", Role.VIEWER, DAY)
    assert lines[0] == HEADER
