"""Keys for users that do not exist, so that asking for a name does not show whether it does.

SCRAM shows a user's salt and iterations to every client that asks. A name that no user has gets
some that look like a user's and stay the same, across restarts: they are made of the name and of a
key that never leaves the data directory. No proof fits them.
"""

import hmac
import os
import secrets
from pathlib import Path

from gateway.access.scram_keys import SALT_BYTES, ScramKeys
from gateway.files.durable import replace_durably

KEY_BYTES = 32
KEY_FILE = "decoy-key"


def load_key(directory: Path) -> bytes:
    """Return the key kept in the directory; make it where there is none or a damaged one.

    A new key costs nothing but that names that no user has change their salt once. Raises OSError.
    """
    path = directory / KEY_FILE
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) != KEY_BYTES:
        key = secrets.token_bytes(KEY_BYTES)
        _keep(path, key)
    return key


def decoy_keys_of(username: str, *, key: bytes, iterations: int) -> ScramKeys:
    """Return the keys of a user that does not exist."""
    name = username.encode()
    salt = hmac.digest(key, b"salt" + name, "sha256")[:SALT_BYTES]
    stored_key = hmac.digest(key, b"stored key" + name, "sha256")
    return ScramKeys(iterations, salt, stored_key, hmac.digest(key, b"server" + name, "sha256"))


def _keep(path: Path, key: bytes) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)  # of a process that had the same number and was killed
    replace_durably(path, key, partial=partial, mode=0o600, is_new=True)
