"""The password file: accepted and refused contents, and atomic replacement."""

import hashlib
import os
import stat
from pathlib import Path

import pytest

from gateway.broker.access.passwords.argon2_hash import Argon2Hash
from gateway.broker.access.passwords.file import (
    Imported,
    PasswordFile,
    PasswordFileError,
    import_users,
    remove_user,
    set_password,
)
from gateway.broker.access.passwords.mosquitto import MosquittoHash
from gateway.broker.access.passwords.scram_keys import ScramKeys, _derived
from tests.broker.access.passwords.test_mosquitto import OF_6, OF_7

CHEAP_HASH = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$OoIV6rKz/nP0LQ6hKfRkLg"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "passwords"


def test_a_user_with_the_right_password_is_let_in(path: Path) -> None:
    assert set_password(path, "sensor", b"secret")
    users = PasswordFile.load(path)
    assert users.verify("sensor", b"secret")
    assert users.usernames == {"sensor"}


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("sensor", b"Secret"),
        ("sensor", b""),
        ("sensor", b"secret\0"),
        ("nobody", b"secret"),
        ("", b"secret"),
        ("sensor ", b"secret"),
    ],
)
def test_anyone_else_is_not(path: Path, username: str, password: bytes) -> None:
    set_password(path, "sensor", b"secret")
    assert not PasswordFile.load(path).verify(username, password)


def test_a_password_may_be_any_bytes(path: Path) -> None:
    set_password(path, "sensor", b"\xff\x00\n:")
    assert PasswordFile.load(path).verify("sensor", b"\xff\x00\n:")


def test_a_password_is_replaced_in_place_and_others_and_comments_stay(path: Path) -> None:
    set_password(path, "a", b"1")
    path.write_text("# the cellar\n" + path.read_text())
    set_password(path, "b", b"2")
    assert not set_password(path, "a", b"3")
    users = PasswordFile.load(path)
    assert users.verify("a", b"3")
    assert users.verify("b", b"2")
    lines = path.read_text().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["# the cellar", "a", "b"]


def test_a_user_is_removed(path: Path) -> None:
    set_password(path, "a", b"1")
    set_password(path, "ab", b"2")
    assert remove_user(path, "a")
    assert not remove_user(path, "a")
    assert PasswordFile.load(path).usernames == {"ab"}


def test_the_file_is_for_its_owner_only_and_nothing_is_left_beside_it(path: Path) -> None:
    set_password(path, "a", b"1")
    set_password(path, "a", b"2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["passwords"]


def test_no_password_is_in_the_file(path: Path) -> None:
    set_password(path, "a", b"correct horse")
    assert b"correct horse" not in path.read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a:" + CHEAP_HASH.encode() + b"\nplain\n", "line 2: is not USER:HASH"),
        (b"a:secret\n", "line 1: 'a' has no hash that is known"),
        (b"\n\na:\n", "line 3: 'a' has no hash that is known"),
        (b":x\n", "line 1: is not USER:HASH"),
        (b"\xff:x\n", "line 1: is not UTF-8"),
        (f"a:{CHEAP_HASH}\na:{CHEAP_HASH}\n".encode(), "line 2: 'a' is listed twice"),
        (f"a:{CHEAP_HASH.replace('m=8', 'm=9999999')}\n".encode(), "costs too much to check"),
        (f"a:{CHEAP_HASH.replace('t=1', 't=999')}\n".encode(), "costs too much to check"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(
    path: Path, content: bytes, message: str
) -> None:
    path.write_bytes(content)
    with pytest.raises(PasswordFileError) as refusal:
        PasswordFile.load(path)
    assert message in str(refusal.value)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_refused_with_the_command_that_makes_it(path: Path) -> None:
    with pytest.raises(PasswordFileError, match="oncegate passwd"):
        PasswordFile.load(path)


@pytest.mark.parametrize("mode", [0o666, 0o644, 0o604, 0o601])
def test_a_file_that_is_open_to_others_is_refused(path: Path, mode: int) -> None:
    set_password(path, "a", b"1")
    path.chmod(mode)
    with pytest.raises(PasswordFileError, match=f"mode {mode:04o} .*chmod 600 .*, or 640"):
        PasswordFile.load(path)


def test_a_file_that_a_group_reads_is_taken(path: Path) -> None:
    set_password(path, "a", b"1")
    path.chmod(0o640)
    assert PasswordFile.load(path).usernames == {"a"}


@pytest.mark.parametrize("username", ["", "a:b", "#a", "a\nb", "x" * 1025])
def test_a_name_that_a_line_cannot_hold_is_refused(path: Path, username: str) -> None:
    with pytest.raises(PasswordFileError, match="cannot be a user name"):
        set_password(path, username, b"1")
    assert not path.exists()


def test_a_damaged_file_is_not_written_over(path: Path) -> None:
    path.write_text("oops\n")
    with pytest.raises(PasswordFileError, match="line 1"):
        set_password(path, "a", b"1")
    assert path.read_text() == "oops\n"


def test_an_empty_password_is_refused(path: Path) -> None:
    with pytest.raises(PasswordFileError, match="1 to 65535 bytes"):
        set_password(path, "a", b"")


def test_users_of_another_file_are_added_and_those_that_are_there_stay(
    path: Path, tmp_path: Path
) -> None:
    source = tmp_path / "mosquitto"
    source.write_bytes(f"# of the old broker\nanna:{OF_7}\r\nben:{OF_6}\n".encode())
    path.write_text("# the cellar\n")
    set_password(path, "ben", b"his own")
    assert import_users(path, source) == Imported(1, ["ben"], [])
    users = PasswordFile.load(path)
    assert users.verify("anna", b"secret")
    assert users.verify("ben", b"his own")
    assert not users.verify("ben", b"secret")
    assert path.read_text().startswith("# the cellar\n")
    assert import_users(path, source) == Imported(0, ["anna", "ben"], [])
    assert not set_password(path, "anna", b"secret")
    assert "$7$" not in path.read_text()


def test_a_user_with_an_empty_password_is_neither_imported_nor_let_in(
    path: Path, tmp_path: Path
) -> None:
    source = tmp_path / "foreign"
    keys = ScramKeys(4_096, b"saltsalt", *_derived("", salt=b"saltsalt", iterations=4_096))
    mosquitto = MosquittoHash(0, b"salt", hashlib.sha512(b"salt").digest())
    source.write_text(
        f"six:{mosquitto.text()}\nscram:{keys.text()}\nargon:{Argon2Hash.of(b'').text}\n"
        f"anna:{OF_7}\n"
    )
    source.chmod(0o600)
    assert import_users(path, source) == Imported(1, [], ["six", "scram", "argon"])
    users = PasswordFile.load(source)
    for name in ("six", "scram", "argon"):
        assert not users.verify(name, b"")
        assert not users.verify(name, "\u00ad".encode()), "SASLprep leaves nothing of it"


def test_spaces_and_a_byte_order_mark_that_mosquitto_ignores_are_no_part_of_a_name(
    path: Path, tmp_path: Path
) -> None:
    source = tmp_path / "mosquitto"
    source.write_bytes(f"\ufeffanna:{OF_7}\r\n ben : {OF_6} \r\n".encode())
    source.chmod(0o600)
    assert import_users(path, source) == Imported(2, [], [])
    assert PasswordFile.load(path).usernames == {"anna", "ben"}
    assert PasswordFile.load(path).verify("ben", b"secret")


def test_a_byte_order_mark_before_the_first_user_is_no_part_of_the_name(path: Path) -> None:
    set_password(path, "anna", b"secret")
    set_password(path, "ben", b"secret")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert PasswordFile.load(path).verify("anna", b"secret")
    assert not set_password(path, "anna", b"changed")
    assert remove_user(path, "ben")
    assert PasswordFile.load(path).usernames == {"anna"}


def test_a_line_separator_of_unicode_in_a_name_divides_no_line(path: Path) -> None:
    set_password(path, "an\u2028na\x85", b"secret")
    set_password(path, "ben", b"secret")
    assert PasswordFile.load(path).usernames == {"an\u2028na\x85", "ben"}


def test_a_file_with_a_mistake_is_not_imported(path: Path, tmp_path: Path) -> None:
    source = tmp_path / "mosquitto"
    source.write_text(f"anna:{OF_7}\nben:plain\n")
    with pytest.raises(PasswordFileError, match=f"{source}: line 2"):
        import_users(path, source)
    assert not path.exists()


def test_every_name_costs_the_same_checks_where_hashes_of_mosquitto_are(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(f"anna:{OF_7}\n")
    set_password(path, "scram", b"secret", scram_iterations=4_096)
    set_password(path, "argon", b"secret")
    users = PasswordFile.load(path)
    checked: list[int] = []
    matches = MosquittoHash.matches

    def counting(entry: MosquittoHash, password: bytes) -> bool:
        checked.append(entry.iterations)
        return matches(entry, password)

    monkeypatch.setattr(MosquittoHash, "matches", counting)
    for name in ("anna", "argon", "scram", "nobody"):
        assert not users.verify(name, b"wrong")
    assert checked == [101] * 4


def test_the_entry_of_a_user_is_the_line_and_there_is_none_without(path: Path) -> None:
    set_password(path, "a", b"secret", scram_iterations=4_096)
    set_password(path, "b", b"secret")
    users = PasswordFile.load(path)
    assert [users.entry_of(name) for name in "ab"] == path.read_bytes().splitlines()
    assert users.entry_of("c") is None
