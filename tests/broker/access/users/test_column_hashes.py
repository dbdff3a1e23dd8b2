"""Password hashes in a database column: every supported form, and invalid ones."""

import hashlib

import argon2
import bcrypt
import pytest

from gateway.broker.access.passwords.scram_keys import keys_of
from gateway.broker.access.users.column_hashes import BCRYPT_COST_MAX, HashRefused, HashRules, Kind
from tests.broker.access.passwords.test_mosquitto import OF_6, OF_7

BY_FORM = HashRules()


@pytest.mark.parametrize(
    "text",
    [
        argon2.PasswordHasher(1, 8, 1).hash("secret"),
        bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode(),
        bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode().replace("$2b$", "$2y$"),
        keys_of("secret", salt=b"saltsalt", iterations=4_096).text(),
        OF_6,
        OF_7,
    ],
    ids=["argon2", "2b", "2y", "scram", "6", "7"],
)
def test_a_hash_that_shows_its_form_is_checked(text: str) -> None:
    for written in (text, text.encode()):
        found = BY_FORM.parse(written, None)
        assert found.matches(b"secret")
        assert not found.matches(b"Secret")
        assert not found.matches(b"")


def test_bcrypt_looks_at_72_bytes() -> None:
    text = bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode()
    assert BY_FORM.parse(text, None).matches(b"x" * 100)


@pytest.mark.parametrize("name", ["sha256", "sha512"])
def test_a_digest_is_checked_with_its_salt_where_it_is_configured(name: Kind) -> None:
    for position, written in (
        ("before", b"NaClsecret"),
        ("after", b"secretNaCl"),
        ("none", b"secret"),
    ):
        rules = HashRules(name, position)  # type: ignore[arg-type]
        found = rules.parse(hashlib.new(name, written).hexdigest().upper(), "NaCl")
        assert found.matches(b"secret")
        assert not found.matches(b"wrong")
    pbkdf2 = hashlib.pbkdf2_hmac(name, b"secret", b"NaCl", 1_000).hex()
    rules = HashRules(f"pbkdf2-{name}", iterations=1_000)  # type: ignore[arg-type]
    assert rules.parse(pbkdf2, b"NaCl").matches(b"secret")
    assert not rules.parse(pbkdf2, b"KCl").matches(b"secret")


@pytest.mark.parametrize(
    ("rules", "text", "salt", "reason"),
    [
        (BY_FORM, None, None, "not a text"),
        (BY_FORM, "", None, "not a text"),
        (BY_FORM, 7, None, "not a text"),
        (BY_FORM, "x" * 1_025, None, "not a text"),
        (BY_FORM, "plain", None, "no form that is known"),
        (BY_FORM, "# comment", None, "no form that is known"),
        (BY_FORM, "\u00e4", None, "no form that is known"),
        (BY_FORM, b"\xff", None, "no form that is known"),
        (BY_FORM, f"$2b${BCRYPT_COST_MAX + 1}${'a' * 53}", None, "at most 13"),
        (BY_FORM, f"$7$999999999$YQ==${'A' * 86}==", None, "no form that is known"),
        (HashRules("sha256"), "zz", "s", "not hexadecimal"),
        (HashRules("sha256"), "00", "s", "not the length"),
        (HashRules("sha256"), "00" * 32, 7, "salt is not a text"),
        (HashRules("sha256"), "00" * 32, "x" * 257, "salt is not a text"),
    ],
)
def test_what_is_no_hash_is_refused(
    rules: HashRules, text: object, salt: object, reason: str
) -> None:
    with pytest.raises(HashRefused, match=reason):
        rules.parse(text, salt)
