"""The password file as a source of users; unknown users are left to the next source."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.guesses import Guesses
from gateway.broker.access.logins.login import Login
from gateway.broker.access.passwords.argon2_hash import Argon2Hash
from gateway.broker.access.passwords.file import PasswordFile, set_password
from gateway.broker.access.passwords.scram_keys import ScramKeys, _derived
from gateway.broker.access.users.file import FileUsers
from gateway.broker.core.effects import AuthenticationAnswer
from tests.broker.access.scram_client import ScramClient

ITERATIONS = 4_096


@pytest.fixture
def checks() -> Iterator[Checks]:
    checks = Checks(Guesses())
    yield checks
    checks.close()


@pytest.fixture
def users(tmp_path: Path) -> FileUsers:
    path = tmp_path / "passwords"
    set_password(path, "argon", b"secret")
    set_password(path, "alice", b"secret", scram_iterations=ITERATIONS)
    return FileUsers(PasswordFile.load(path), bytes(32))


def code_of(answer: AuthenticationAnswer | None) -> int | None:
    return None if answer is None else answer.reason_code


async def test_no_empty_password_lets_in_by_any_way(tmp_path: Path, checks: Checks) -> None:
    path = tmp_path / "passwords"
    stored_key, server_key = _derived("", salt=bytes(16), iterations=ITERATIONS)
    keys = ScramKeys(ITERATIONS, bytes(16), stored_key, server_key)
    path.write_text(f"argon:{Argon2Hash.of(b'').text}\nscram:{keys.text()}\n")
    path.chmod(0o600)
    users = FileUsers(PasswordFile.load(path), bytes(32))
    for name in ("argon", "scram"):
        assert code_of(await users.check(Login(name, b""), checks)) == 0x86
    exchange = users.begin(Login("", None, address="192.0.2.7:1"), checks)
    client = ScramClient("scram", "", "nonce")
    challenge = (await exchange.step(client.first())).data
    assert challenge is not None
    assert (await exchange.step(client.final(challenge))).reason_code == 0x86


async def test_a_user_of_the_file_is_answered_and_every_other_is_left_to_the_next_source(
    users: FileUsers, checks: Checks
) -> None:
    assert code_of(await users.check(Login("argon", b"secret"), checks)) == 0
    assert code_of(await users.check(Login("argon", b"wrong"), checks)) == 0x86
    assert await users.check(Login("nobody", b"secret"), checks) is None
    assert await users.check(Login("argon", None), checks) is None


async def test_an_exchange_counts_for_the_user_that_it_names(
    users: FileUsers, checks: Checks
) -> None:
    place = checks.guesses.keys_of("192.0.2.7", "alice")
    for password, code, is_known in (("wrong", 0x86, False), ("secret", 0, True)):
        exchange = users.begin(Login("", None, address="192.0.2.7:1"), checks)
        client = ScramClient("alice", password, "nonce")
        challenge = (await exchange.step(client.first())).data
        assert challenge is not None
        assert (await exchange.step(client.final(challenge))).reason_code == code
        assert checks.guesses.is_suspect(place)
        assert checks.guesses.is_known(place) == is_known


async def test_an_exchange_that_is_malformed_is_no_guess(users: FileUsers, checks: Checks) -> None:
    exchange = users.begin(Login("", None, address="192.0.2.7:1"), checks)
    assert (await exchange.step(b"nonsense")).reason_code == 0x87
    assert not checks.guesses.is_suspect(checks.guesses.keys_of("192.0.2.7", ""))
