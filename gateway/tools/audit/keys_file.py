"""The keys file of the option `--keys`, with the public keys of gateways, one key per line::

    <gateway> <public key, 64 hexadecimal digits> [prefix=<folder>] [name ...]

The format is described in docs/formats/keys.md. Only the Spark job uses `prefix`, because only this
job knows the folder of each segment at the upload target.
"""

import re
from pathlib import Path
from typing import Final

from gateway.uploader.segments.signature import is_public_key

KEYS_FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Maximum size of the file. This is enough for a hundred thousand gateways with one name each."""

_GATEWAY = re.compile(r"[a-z0-9-]{1,64}(?:_[a-z0-9-]{1,32})?", re.ASCII)


class KeysFileError(ValueError):
    """Error raised if a keys file is invalid.

    The message states which line is wrong, and how to fix it.
    """


def load_keys(path: Path) -> dict[str, list[str]]:
    """Return the public keys of each gateway in a keys file.

    Raises:
        KeysFileError: if a line is invalid, or the file is too large.
        OSError: if the file cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(KEYS_FILE_BYTES_MAX + 1)
    if len(data) > KEYS_FILE_BYTES_MAX:
        raise KeysFileError(f"{path}: larger than {KEYS_FILE_BYTES_MAX} bytes: no keys file")
    found: dict[str, list[str]] = {}
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if _GATEWAY.fullmatch(words[0]) is None:
            raise KeysFileError(
                f"{path}, line {number}: {words[0]!r} is no gateway's id: write what `oncegate id` "
                "prints"
            )
        if len(words) < 2 or not is_public_key(words[1]):
            raise KeysFileError(
                f"{path}, line {number}: no public key behind {words[0]}: write what "
                "`oncegate id --public-key` prints"
            )
        found.setdefault(words[0], []).append(words[1])
    return found
