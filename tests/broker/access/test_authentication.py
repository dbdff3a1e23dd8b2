"""The authenticator: users with either kind of entry, with passwords and SCRAM, known or not."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from gateway.broker.access.authentication import Authenticator
from gateway.broker.access.logins import turns
from gateway.broker.access.logins.checks import Checks
from gateway.broker.access.logins.login import Login
from gateway.broker.access.logins.proven import Proven
from gateway.broker.access.passwords.file import (
    PasswordFile,
    PasswordFileError,
    remove_user,
    set_password,
)
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.broker.access.passwords.workers import PasswordWorkers
from gateway.broker.access.users.file import FileUsers
from gateway.broker.access.users.source import Exchange
from gateway.broker.core.effects import AuthenticationAnswer
from tests.broker.access.scram_client import ScramClient

KEY = bytes(range(32))
ITERATIONS = 4_096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    set_password(path, "alice", b"secret", scram_iterations=ITERATIONS)
    set_password(path, "argon", b"secret")
    return path


def of_file(path: Path) -> Authenticator:
    return Authenticator([FileUsers(PasswordFile.load(path), KEY)])


async def outcome(
    authenticator: Authenticator, username: str, password: str
) -> tuple[int, ScramClient]:
    """Run a whole SCRAM exchange; return its reason code and the client."""
    exchange = authenticator.begin("SCRAM-SHA-256", Login(""))
    client = ScramClient(username, password, "nonce")
    challenge = await exchange.step(client.first())
    assert challenge.reason_code == 0x18
    assert challenge.data is not None
    answer = await exchange.step(client.final(challenge.data))
    if answer.reason_code == 0:
        assert client.trusts(answer.data)
        assert answer.username == username
    return answer.reason_code, client


async def test_a_user_with_scram_keys_gets_in_with_a_proof_and_with_the_password(
    path: Path,
) -> None:
    authenticator = of_file(path)
    assert authenticator.methods == ["SCRAM-SHA-256"]
    assert (await outcome(authenticator, "alice", "secret"))[0] == 0
    assert (await outcome(authenticator, "alice", "wrong"))[0] == 0x86
    assert (await authenticator.check(Login("alice", b"secret"))).reason_code == 0
    assert (await authenticator.check(Login("alice", b"wrong"))).reason_code == 0x86
    assert (await authenticator.check(Login("argon", b"secret"))).username == "argon"
    assert (await authenticator.check(Login("argon", b"wrong"))).reason_code == 0x86
    assert (await authenticator.check(Login("nobody", b"secret"))).reason_code == 0x86


async def test_without_users_no_login_is_accepted_and_no_method_is_offered() -> None:
    authenticator = Authenticator()
    assert authenticator.methods == []
    assert not authenticator.has_users
    assert (await authenticator.check(Login("alice", b"secret"))).reason_code == 0x86


class OtherUsers:
    """A second source with two users, each with a password."""

    name = "other"
    methods = ()
    has_passwords = True
    problem = None

    def __init__(self) -> None:
        self.asked: list[Login] = []

    async def check(self, login: Login, checks: Checks) -> AuthenticationAnswer | None:
        self.asked.append(login)
        if login.username not in ("argon", "other"):
            return None
        is_right = login.password == b"of the other source"
        return AuthenticationAnswer(
            *((0, None, login.username) if is_right else (0x86, None, None))
        )

    async def entry_of(self, login: Login, checks: Checks) -> bytes | None:
        return b"entry of the other source" if login.username == "other" else None

    recheck_seconds = None

    async def digest_of(self, login: Login, digest: bytes, checks: Checks, since: float) -> bytes:
        raise AssertionError("it is never asked again")

    @property
    def decoys(self) -> Sequence[PasswordHash]:
        raise AssertionError("those of the first source are checked")

    def begin(self, login: Login, checks: Checks) -> Exchange:
        raise AssertionError("it has no method")

    def close(self) -> None:
        self.asked.clear()


async def test_the_first_source_that_knows_the_user_answers(path: Path) -> None:
    other = OtherUsers()
    authenticator = Authenticator([FileUsers(PasswordFile.load(path), KEY), other])
    assert (await authenticator.check(Login("argon", b"of the other source"))).reason_code == 0x86
    assert other.asked == [], "a user of the first source is refused there"
    login = Login("other", b"of the other source", "id", "0.0.0.0:1883", "192.0.2.7:4000", "name")
    assert (await authenticator.check(login)).username == "other"
    assert other.asked == [login]
    assert (await authenticator.check(Login("other", b"wrong"))).reason_code == 0x86
    reverse = Authenticator([other, FileUsers(PasswordFile.load(path), KEY)])
    assert (await reverse.check(Login("argon", b"of the other source"))).reason_code == 0
    assert (await reverse.check(Login("alice", b"secret"))).reason_code == 0


async def test_a_name_that_no_source_knows_costs_a_check(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[list[bool]] = []
    matches = PasswordWorkers.matches

    async def counting(
        workers: PasswordWorkers, hashes: Sequence[PasswordHash], password: bytes
    ) -> list[bool]:
        checked.append(await matches(workers, hashes, password))
        return checked[-1]

    monkeypatch.setattr(PasswordWorkers, "matches", counting)
    authenticator = Authenticator([FileUsers(PasswordFile.load(path), KEY), OtherUsers()])
    assert (await authenticator.check(Login("nobody", b"secret"))).reason_code == 0x86
    assert checked == [[False, False]], "Argon2 and SCRAM, as for each user"
    assert (await authenticator.check(Login("argon", b"wrong"))).reason_code == 0x86
    assert checked == [[False, False]] * 2


async def test_with_too_many_that_wait_a_login_is_answered_to_try_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "WAITING_MAX", 2)
    authenticator = of_file(path)
    tasks = [authenticator.check(Login("argon", b"%d" % number)) for number in range(6)]
    codes = [answer.reason_code for answer in await asyncio.gather(*tasks)]
    assert sorted(codes) == [0x86] * 4 + [0x89] * 2


@pytest.mark.parametrize("username", ["nobody", "argon"])
async def test_a_user_without_keys_cannot_be_distinguished_from_one_with_keys(
    path: Path, username: str
) -> None:
    authenticator = of_file(path)
    code, first = await outcome(authenticator, username, "secret")
    assert code == 0x86
    _, real = await outcome(authenticator, "alice", "wrong")
    assert len(first.salt) == len(real.salt)
    assert first.iterations == real.iterations == ITERATIONS
    restarted = of_file(path)
    _, again = await outcome(restarted, username, "other")
    assert again.salt == first.salt, "a salt that changes would tell"
    _, other = await outcome(restarted, username + "x", "other")
    assert other.salt != first.salt


async def test_a_proof_of_a_password_that_was_changed_meanwhile_is_refused(path: Path) -> None:
    authenticator = of_file(path)
    exchange = authenticator.begin("SCRAM-SHA-256", Login(""))
    client = ScramClient("alice", "secret", "nonce")
    challenge = (await exchange.step(client.first())).data
    assert challenge is not None
    assert authenticator.replace_users(PasswordFile.load(path)) is None
    set_password(path, "alice", b"new", scram_iterations=ITERATIONS)
    assert authenticator.replace_users(PasswordFile.load(path)) == frozenset({"alice"})
    assert (await exchange.step(client.final(challenge))).reason_code == 0x86
    assert (await outcome(authenticator, "alice", "secret"))[0] == 0x86
    assert (await outcome(authenticator, "alice", "new"))[0] == 0


async def test_an_exchange_goes_on_where_another_user_was_replaced(path: Path) -> None:
    authenticator = of_file(path)
    exchange = authenticator.begin("SCRAM-SHA-256", Login(""))
    client = ScramClient("alice", "secret", "nonce")
    challenge = (await exchange.step(client.first())).data
    assert challenge is not None
    assert remove_user(path, "argon")
    assert authenticator.replace_users(PasswordFile.load(path)) == frozenset({"argon"})
    assert (await exchange.step(client.final(challenge))).reason_code == 0


@pytest.mark.parametrize("is_removed", [True, False])
async def test_a_password_that_is_changed_while_it_is_checked_does_not_let_in(
    path: Path, is_removed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = FileUsers(PasswordFile.load(path), KEY)
    authenticator = Authenticator([users])
    matches = PasswordWorkers.matches

    async def slow(
        workers: PasswordWorkers, hashes: Sequence[PasswordHash], password: bytes
    ) -> list[bool]:
        found = await matches(workers, hashes, password)
        if not changed:
            changed.append(True)
            if is_removed:
                remove_user(path, "argon")
            else:
                set_password(path, "argon", b"new")
            authenticator.replace_users(PasswordFile.load(path))
        return found

    changed: list[bool] = []
    monkeypatch.setattr(PasswordWorkers, "matches", slow)
    first = asyncio.create_task(authenticator.check(Login("argon", b"secret")))
    assert (await first).reason_code == 0x86


async def test_what_would_prove_a_user_now_is_asked_of_the_source_that_let_it_in(
    path: Path,
) -> None:
    authenticator = Authenticator([FileUsers(PasswordFile.load(path), KEY), OtherUsers()])
    answer = await authenticator.check(Login("argon", b"secret"))
    assert isinstance(answer, Proven)
    login = Login("argon")
    assert await authenticator.entry_of(answer.source, login) == answer.entry
    assert await authenticator.entry_of("other", login) is None
    assert await authenticator.entry_of("other", Login("other")) == b"entry of the other source"
    assert await authenticator.entry_of("gone", login) is None
    remove_user(path, "argon")
    authenticator.replace_users(PasswordFile.load(path))
    assert await authenticator.entry_of("password_file", login) is None


def test_a_line_holds_one_entry_of_either_kind_and_the_other_kind_replaces_it(path: Path) -> None:
    assert not set_password(path, "alice", b"secret")
    assert PasswordFile.load(path).scram_keys_of("alice") is None
    assert not set_password(path, "alice", b"secret", scram_iterations=ITERATIONS)
    assert PasswordFile.load(path).scram_keys_of("alice") is not None
    assert b"secret" not in path.read_bytes()
    assert remove_user(path, "alice")
    assert PasswordFile.load(path).usernames == frozenset({"argon"})


@pytest.mark.parametrize(
    ("username", "password", "iterations", "message"),
    [
        ("a", b"x", 4095, "4095 iterations: allowed are 4096 to 600000"),
        ("a", b"\xff", ITERATIONS, "text in UTF-8"),
        ("a", b"a\x07", ITERATIONS, "SCRAM cannot use this password: U\\+0007"),
        ("a", "\U0001f600".encode(), ITERATIONS, "Unicode 3.2"),
        ("\u2168", b"x", ITERATIONS, "knows '\u2168' as 'IX': use that name"),
        ("a\U0001f600", b"x", ITERATIONS, "SCRAM cannot use this user name"),
    ],
)
def test_what_scram_cannot_use_is_refused_and_the_file_stays(
    path: Path, username: str, password: bytes, iterations: int, message: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(PasswordFileError, match=message):
        set_password(path, username, password, scram_iterations=iterations)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a:{SCRAM-SHA-256}1:x", "line 1: the entry of 'a': is not {SCRAM-SHA-256}iterations"),
        ("a:{SCRAM-SHA-256}9:YQ==:YQ==:YQ==", "line 1: the entry of 'a': 9 iterations"),
        ("\u2168:{SCRAM-SHA-256}9:YQ==:YQ==:YQ==", "line 1: SCRAM knows '\u2168' as 'IX'"),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(path: Path, line: str, message: str) -> None:
    path.write_text(f"{line}\n")
    with pytest.raises(PasswordFileError) as refusal:
        PasswordFile.load(path)
    assert f"{path}: {message}" in str(refusal.value)
