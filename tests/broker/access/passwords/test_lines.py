"""One line of the password file, in each of its forms."""

import pytest

from gateway.broker.access.passwords.argon2_hash import Argon2Hash
from gateway.broker.access.passwords.lines import (
    PasswordFileError,
    lines_of,
    parse,
    refuse_password,
    refuse_unprepared,
    refuse_username,
)
from gateway.broker.access.passwords.mosquitto import MosquittoHash
from gateway.broker.access.passwords.scram_keys import ScramKeys
from tests.broker.access.passwords.test_mosquitto import OF_6, OF_7

ARGON = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$OoIV6rKz/nP0LQ6hKfRkLg"
KEY = "A" * 43 + "="
SCRAM = f"{{SCRAM-SHA-256}}4096:c2FsdHNhbHQ=:{KEY}:{KEY}"


@pytest.mark.parametrize(
    ("entry", "kind"),
    [(ARGON, Argon2Hash), (SCRAM, ScramKeys), (OF_6, MosquittoHash), (OF_7, MosquittoHash)],
)
def test_the_form_is_known_by_its_beginning(entry: str, kind: type) -> None:
    found = parse(f"anna:{entry}\r".encode(), "file: line 1")
    assert found is not None
    assert found[0] == "anna"
    assert isinstance(found[1], kind)


def test_lines_keep_their_spaces_unless_they_are_trimmed() -> None:
    content = b"\xef\xbb\xbf ben :$6$x \r\n anna :$argon2id$x \n\n"
    assert lines_of(content) == [b" ben :$6$x ", b" anna :$argon2id$x ", b""]
    assert lines_of(content, trimmed=True) == [b"ben:$6$x", b" anna :$argon2id$x ", b""]
    assert lines_of(b"") == []


@pytest.mark.parametrize("line", [b"", b"  ", b"# anna:x", b"\r"])
def test_comments_and_empty_lines_are_no_users(line: bytes) -> None:
    assert parse(line, "file: line 1") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("anna", "is not USER:HASH"),
        ("anna:plain", "'anna' has no hash that is known"),
        ("anna:$6$x", "the entry of 'anna': is neither"),
        ("anna:$5$x$y", "has no hash that is known"),
        (f"anna:{ARGON.replace('m=8', 'm=999999')}", "costs too much"),
        (f"\u2168:{SCRAM}", "use that name"),
    ],
)
def test_any_other_line_is_refused_with_its_place(line: str, message: str) -> None:
    with pytest.raises(PasswordFileError, match=f"^file: line 7: .*{message}"):
        parse(line.encode(), "file: line 7")


def test_names_and_passwords_that_cannot_be_are_refused() -> None:
    for name in ("", "a:b", "#a", "a\n", "x" * 1025):
        with pytest.raises(PasswordFileError, match="cannot be a user name"):
            refuse_username(name)
    for password in (b"", b"x" * 65_536):
        with pytest.raises(PasswordFileError, match="1 to 65535 bytes"):
            refuse_password(password)
    with pytest.raises(PasswordFileError, match="SCRAM cannot use this user name"):
        refuse_unprepared("a\x07")
