"""SCRAM keys for users that do not exist, so that a client cannot find out which names exist.

SCRAM sends a user's salt and iteration count to every client that requests them. For an unknown
name, the broker derives values that look real and stay the same across restarts. The values are
derived from the name and a secret key that never leaves the data directory. No SCRAM proof matches
these values.
"""

import hmac
import os
import secrets
from pathlib import Path

from gateway.broker.access.passwords.scram_keys import SALT_BYTES, ScramKeys
from gateway.process.files.durable import Rights, replace_durably

KEY_BYTES = 32
KEY_FILE = "decoy-key"


def load_key(directory: Path) -> bytes:
    """Load the secret key for decoys from a directory, or create it if it is missing or damaged.

    Decoys are SCRAM keys for users that do not exist. The only effect of a new secret key is that
    these users get different salts. Raises OSError if the key cannot be read or written.
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
    """Return SCRAM keys for a user that does not exist, derived from the name and a secret key."""
    name = username.encode()
    salt = hmac.digest(key, b"salt" + name, "sha256")[:SALT_BYTES]
    stored_key = hmac.digest(key, b"stored key" + name, "sha256")
    return ScramKeys(iterations, salt, stored_key, hmac.digest(key, b"server" + name, "sha256"))


def _keep(path: Path, key: bytes) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)  # left by a killed process with the same process ID
    replace_durably(path, key, partial=partial, rights=Rights(0o600), is_new=True)
