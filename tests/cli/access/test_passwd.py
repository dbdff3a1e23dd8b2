"""`oncegate passwd` at a terminal."""

import base64
import hashlib
from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import PasswordFile
from tests.broker.access.passwords.test_mosquitto import OF_7
from tests.cli.command import oncegate


def test_passwd_writes_scram_keys_and_never_shows_the_password(tmp_path: Path) -> None:
    outcome = oncegate(
        "passwd", "--scram", "p", "ann", "--password-stdin", directory=tmp_path, stdin="xyzzy\n"
    )
    assert (outcome.returncode, outcome.stdout) == (0, "added: ann in p\n")
    keys = PasswordFile.load(tmp_path / "p").scram_keys_of("ann")
    assert keys is not None
    assert keys.iterations == 15_000
    assert keys.matches(b"xyzzy")
    assert "xyzzy" not in (tmp_path / "p").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scram", "--iterations", "50"], "50 iterations: allowed are 4096 to 600000"),
        (["--iterations", "5000"], "--iterations belongs to --scram"),
        (["--scram", "--iterations", "0"], "0 iterations: allowed are 4096 to 600000"),
    ],
)
def test_iterations_that_cannot_be_are_refused_in_one_line(
    tmp_path: Path, options: list[str], message: str
) -> None:
    outcome = oncegate(
        "passwd", "p", "ann", "--password-stdin", *options, directory=tmp_path, stdin="x"
    )
    assert outcome.returncode == 2
    assert message in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert not (tmp_path / "p").exists()


def test_passwd_takes_the_password_from_stdin_and_never_shows_it(tmp_path: Path) -> None:
    added = oncegate("passwd", "p", "ann", "--password-stdin", directory=tmp_path, stdin="xyzzy\n")
    assert (added.returncode, added.stdout) == (0, "added: ann in p\n")
    changed = oncegate("passwd", "p", "ann", "--password-stdin", directory=tmp_path, stdin="abc")
    assert changed.stdout == "changed: ann in p\n"
    removed = oncegate("passwd", "p", "ann", "--remove", directory=tmp_path)
    assert removed.returncode == 0
    again = oncegate("passwd", "p", "ann", "--remove", directory=tmp_path)
    assert (again.returncode, again.stderr) == (1, "p: there is no user 'ann'\n")
    assert "xyzzy" not in added.stdout + added.stderr + (tmp_path / "p").read_text()


def test_passwd_refuses_an_empty_password(tmp_path: Path) -> None:
    outcome = oncegate("passwd", "p", "ann", "--password-stdin", directory=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stderr.startswith("the first line of standard input is empty: write the pass")
    assert not (tmp_path / "p").exists()


def test_passwd_imports_the_users_of_mosquitto(tmp_path: Path) -> None:
    (tmp_path / "mosquitto").write_text(f"anna:{OF_7}\n")
    (tmp_path / "mosquitto").chmod(0o600)
    outcome = oncegate("passwd", "p", "--import", "mosquitto", directory=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.startswith("1 user added to p\nMosquitto's hashes")
    assert PasswordFile.load(tmp_path / "p").verify("anna", b"secret")
    again = oncegate("passwd", "p", "--import", "mosquitto", directory=tmp_path)
    assert again.stdout == "0 users added to p; 1 already there and unchanged: anna\n"


def test_passwd_does_not_import_users_with_an_empty_password(tmp_path: Path) -> None:
    empty = hashlib.pbkdf2_hmac("sha512", b"", b"salt", 101)
    digest = base64.b64encode(empty).decode()
    (tmp_path / "mosquitto").write_text(f"anna:{OF_7}\nbob:$7$101$c2FsdA==${digest}\n")
    (tmp_path / "mosquitto").chmod(0o600)
    outcome = oncegate("passwd", "p", "--import", "mosquitto", directory=tmp_path)
    assert "1 user added to p\n" in outcome.stdout
    assert "1 user not added because their password is empty: bob." in outcome.stdout
    assert PasswordFile.load(tmp_path / "p").usernames == {"anna"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["p"], "expected a USER, or --import FILE"),
        (["p", "ann", "--import", "m"], "--import takes no user"),
        (["p", "--import", "m", "--scram"], "--import takes no user and no other option"),
    ],
)
def test_passwd_wants_a_user_or_a_file(tmp_path: Path, words: list[str], message: str) -> None:
    outcome = oncegate("passwd", *words, directory=tmp_path)
    assert outcome.returncode == 2
    assert message in outcome.stderr
