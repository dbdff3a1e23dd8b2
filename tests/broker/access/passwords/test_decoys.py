"""Decoy SCRAM keys for users that do not exist, and the secret key that derives them."""

import os
import stat
from pathlib import Path

import pytest

from gateway.broker.access.passwords.decoys import decoy_keys_of, load_key
from gateway.broker.access.passwords.scram_keys import ITERATIONS_MIN, SALT_BYTES, keys_of, parse


def test_the_decoys_key_is_made_once_for_the_broker_only_and_a_damaged_one_is_replaced(
    tmp_path: Path,
) -> None:
    key = load_key(tmp_path)
    kept = tmp_path / "decoy-key"
    assert len(key) == 32
    assert load_key(tmp_path) == key
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.write_bytes(key[:-1])
    assert load_key(tmp_path) != key
    assert len(kept.read_bytes()) == 32
    assert list(tmp_path.iterdir()) == [kept]


def test_the_keys_of_a_name_stay_the_same_and_no_other_name_or_gateway_has_them() -> None:
    key, other = bytes(range(32)), bytes(32)
    keys = decoy_keys_of("ann", key=key, iterations=4096)
    assert keys == decoy_keys_of("ann", key=key, iterations=4096)
    assert keys.salt != decoy_keys_of("anna", key=key, iterations=4096).salt
    assert keys.salt != decoy_keys_of("ann", key=other, iterations=4096).salt
    assert keys.iterations == 4096


def test_they_have_the_form_of_a_users_keys_and_no_password_fits_them() -> None:
    keys = decoy_keys_of("ann", key=bytes(32), iterations=ITERATIONS_MIN)
    real = keys_of("secret", salt=bytes(SALT_BYTES), iterations=ITERATIONS_MIN)
    assert parse(keys.text()) == keys
    assert len(keys.text()) == len(real.text())
    assert not keys.matches(b"")
    assert not keys.matches(b"ann")


def test_what_a_killed_process_left_does_not_keep_a_key_from_being_made(
    tmp_path: Path,
) -> None:
    (tmp_path / f"decoy-key.{os.getpid()}").write_bytes(b"half")
    assert load_key(tmp_path) == (tmp_path / "decoy-key").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["decoy-key"]


def test_a_directory_that_cannot_be_written_is_an_error_and_not_a_key_for_one_run(
    tmp_path: Path,
) -> None:
    with pytest.raises(OSError, match="No such file"):
        load_key(tmp_path / "missing")
