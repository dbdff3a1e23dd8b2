"""The gateway's signing key, which is created at the first start and stored in log/signing-key.

The file belongs to the uploader's user, has mode 0600, and contains one line::

    <seed, 64 hexadecimal digits> <public key, 64 hexadecimal digits>

Each start checks that the seed and the public key match, so that a flipped bit cannot result in
another key. If the key is lost or damaged, a new key is created, and an error is logged. The
process still starts. `log/signing-key.pub` lists all public keys of this device, the newest last.
The ingest job keeps segments in quarantine until a person has added the new key
(docs/decisions/0088).
"""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path
from typing import Final

from gateway.process.files.disk_errors import is_unreadable
from gateway.process.files.durable import Rights, make_folder, replace_durably
from gateway.process.files.private import open_private
from gateway.uploader.segments.signature import SEED_BYTES, Signer, is_public_key
from gateway.uploader.settings import KEY_TRIES_MAX, PUBLIC_KEYS_KEPT

logger = logging.getLogger(__name__)

KEY_FILE: Final = "signing-key"
PUBLIC_KEY_FILE: Final = "signing-key.pub"

_KEY_MODE: Final = 0o600
_FILE_BYTES_MAX: Final = 4096
"""Maximum length of each file: a key takes 130 bytes, PUBLIC_KEYS_KEPT public keys a kilobyte."""


class SigningKey:
    """The signing key in a log folder. Only the process that has locked the folder may load it."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._path = log_dir / KEY_FILE
        self._unreadable_tries = 0
        self.public_keys: list[str] = []
        """All public keys that this device has had, the newest last. Empty before `load`."""

    def load(self) -> Signer:
        """Return a signer with the stored key, or with a new key if no valid key is stored.

        Raises:
            OSError: if the stored key cannot be read at the moment, or a new key cannot be stored.
        """
        make_folder(self._log_dir)
        former = public_keys_in(self._log_dir)
        signer = self._kept()
        if signer is None:
            signer = self._made()
            if former:
                logger.error(
                    "this gateway signs with a new key, %s, since %s was lost: who receives its "
                    "segments refuses them until a person has added this key to the keys file",
                    signer.public_key,
                    self._path,
                )
        self.public_keys = former
        if former[-1:] != [signer.public_key]:
            known = [key for key in former if key != signer.public_key]
            self.public_keys = [*known, signer.public_key][-PUBLIC_KEYS_KEPT:]
            text = "".join(f"{key}\n" for key in self.public_keys)
            path = self._log_dir / PUBLIC_KEY_FILE
            replace_durably(path, text.encode("ascii"), partial=_partial_of(path))
        return signer

    def _kept(self) -> Signer | None:
        """Load the stored key, or return None if no valid key is stored. Rename a damaged file."""
        try:
            text = _text_of(self._path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            self._unreadable_tries += 1
            if not is_unreadable(problem) or self._unreadable_tries < KEY_TRIES_MAX:
                raise
            text = ""
        seed, _, public_key = text.strip().partition(" ")
        if is_public_key(seed) and is_public_key(public_key):
            signer = Signer(bytes.fromhex(seed))
            if signer.public_key == public_key:
                return signer
        aside = self._path.with_name(f"{KEY_FILE}.damaged")
        self._path.replace(aside)
        logger.error("%s is damaged, and was renamed to %s", self._path, aside.name)
        return None

    def _made(self) -> Signer:
        seed = secrets.token_bytes(SEED_BYTES)
        signer = Signer(seed)
        line = f"{seed.hex()} {signer.public_key}\n".encode("ascii")
        replace_durably(self._path, line, partial=_partial_of(self._path), rights=Rights(_KEY_MODE))
        return signer


def public_keys_in(log_dir: Path) -> list[str]:
    """Return the public keys listed in a log folder, the newest last.

    The list is empty if the file does not exist, or if a disk error makes it unreadable.

    Raises:
        OSError: if the file exists but cannot be opened for another reason.
    """
    try:
        text = _text_of(log_dir / PUBLIC_KEY_FILE)
    except FileNotFoundError:
        return []
    except OSError as problem:
        if not is_unreadable(problem):
            raise
        return []
    return [line for line in text.split("\n") if is_public_key(line)]


def _text_of(path: Path) -> str:
    descriptor = open_private(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _FILE_BYTES_MAX).decode("ascii", errors="replace")
    finally:
        os.close(descriptor)


def _partial_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")
