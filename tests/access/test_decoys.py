"""Keys of users that do not exist, and the key that they are made with."""

import stat
from pathlib import Path

from gateway.access.decoys import load_key


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
