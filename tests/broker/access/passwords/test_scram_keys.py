"""SCRAM-SHA-256 keys, which are stored in place of a password, and their string form."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.passwords import scram_keys
from gateway.broker.access.passwords.scram_keys import ScramKeys, ScramKeysError, keys_of

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
PENCIL = keys_of("pencil", salt=SALT, iterations=4096)


def test_keys_survive_their_text_form() -> None:
    assert scram_keys.parse(PENCIL.text()) == PENCIL
    assert PENCIL.text().startswith("{SCRAM-SHA-256}4096:W22ZaJ0SNY7soEsUEjb6gQ==:")
    assert PENCIL.matches(b"pencil")
    assert PENCIL.matches("p\u00adencil".encode())
    for wrong in (b"Pencil", b"", b"\xff", b"pencil\0", "\U0001f600".encode()):
        assert not PENCIL.matches(wrong)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("{SCRAM-SHA-256}", "{SCRAM-SHA-1}", "is not {SCRAM-SHA-256}"),
        (":W22", ":x:W22", "is not {SCRAM-SHA-256}"),
        ("4096", "4095", "allowed are 4096 to 600000"),
        ("4096", "600001", "allowed are 4096 to 600000"),
        ("4096", "-4096", "not a number"),
        ("4096", "\u0664\u0660\u0669\u0666", "not a number"),
        ("4096", "9" * 5000, "not a number"),
        ("W22ZaJ0SNY7soEsUEjb6gQ==", "W22Z*J0SNY7soEsUEjb6gQ==", "base64"),
        ("W22ZaJ0SNY7soEsUEjb6gQ==", "W22Z", "8 to 64 bytes"),
        ("W22ZaJ0SNY7soEsUEjb6gQ==", "W22Z" * 30, "8 to 64 bytes"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(old: str, new: str, reason: str) -> None:
    text = PENCIL.text()
    assert old in text
    with pytest.raises(ScramKeysError, match=reason):
        scram_keys.parse(text.replace(old, new, 1))


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ScramKeysError, match="32 bytes"):
        scram_keys.parse(ScramKeys(4096, SALT, b"x" * 31, b"x" * 32).text())


@given(st.text(max_size=200))
def test_any_text_is_an_entry_or_refused(text: str) -> None:
    for entry in (text, scram_keys.PREFIX + text):
        try:
            keys = scram_keys.parse(entry)
        except ScramKeysError:
            continue
        assert scram_keys.parse(keys.text()) == keys


@pytest.mark.parametrize("text", ["YQ", "Y Q==", "YQ==\n", "=", "\u00e4"])
def test_base64_is_strict(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        scram_keys.bytes_of(text)
