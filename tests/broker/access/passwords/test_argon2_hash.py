"""Argon2 hashes: created and checked."""

import pickle

import pytest

from gateway.broker.access.passwords.argon2_hash import Argon2Hash


def test_a_hash_holds_its_password_and_no_other() -> None:
    made = Argon2Hash.of(b"secret")
    assert made.text.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert made.matches(b"secret")
    assert not made.matches(b"Secret")
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - our own


@pytest.mark.parametrize("text", ["", "$argon2id$", "no hash"])
def test_what_is_no_hash_holds_no_password(text: str) -> None:
    assert not Argon2Hash(text).matches(b"secret")
