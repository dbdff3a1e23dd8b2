"""The file of tokens: which lines are valid, and which are refused with their number."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.process.files.token_file import (
    FILE_BYTES_MAX,
    HEADER,
    TOKENS_MAX,
    TokensFileError,
    new_token,
    read_tokens,
    write_tokens,
)

DAY = "2026-11-24"


@pytest.fixture(autouse=True)
def closed_files() -> Iterator[None]:
    """Set the umask so that tests' files are closed to other users, as secrets must be."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def test_what_is_written_is_read_and_bounded(path: Path) -> None:
    tokens = [new_token(f"t{number}", "viewer", DAY)[1] for number in range(TOKENS_MAX + 1)]
    write_tokens(path, tokens[:-1])
    assert read_tokens(path) == tokens[:-1]
    with pytest.raises(TokensFileError, match="has 100 tokens, and may have no more"):
        write_tokens(path, tokens)
    assert read_tokens(path) == tokens[:-1]


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
        ("#" * (FILE_BYTES_MAX + 1), "longer than"),
        (
            "".join(f"t{n}:viewer:{DAY}:{n:064}\n" for n in range(TOKENS_MAX + 1)),
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
def test_a_name_that_cannot_be_written_to_the_file_is_refused(name: str) -> None:
    with pytest.raises(TokensFileError, match="cannot be a token's name"):
        new_token(name, "viewer", DAY)


def test_the_example_in_the_documentation_is_read(path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "formats" / "api-tokens.md"
    lines = [line[4:] for line in page.read_text().splitlines() if line.startswith("    ")]
    path.write_text("\n".join(lines))
    (token,) = read_tokens(path)
    assert (token.name, token.role, token.made) == ("dashboard", "viewer", DAY)
    assert lines[0] == HEADER
