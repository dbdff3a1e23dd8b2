"""The keys file (`--keys`), which contains the public keys of gateways (docs/formats/keys.md).

Each line has one key::

    <gateway> <public key, 64 hexadecimal digits> [prefix=<folder>] [name ...]

Empty lines and lines that begin with `#` are ignored. A gateway may have several lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cloud_jobs.errors import KeysFileError
from cloud_jobs.ingest.signature import PUBLIC_KEY
from cloud_jobs.limits import KEYS_FILE_BYTES_MAX, KEYS_PER_GATEWAY_MAX

_GATEWAY: Final = re.compile(r"[a-z0-9-]{1,64}(?:_[a-z0-9-]{1,32})?\Z", re.ASCII)
_PREFIX: Final = "prefix="


@dataclass(frozen=True, slots=True)
class Pinned:
    """The keys of one gateway, and the folder (`prefix`) that must contain its segments.

    The folder is relative to the source. If `prefix` is None, the segments may be in any folder.
    """

    public_keys: tuple[str, ...]
    prefix: str | None = None


def load_keys(path: Path) -> dict[str, Pinned]:
    """Return the contents of the keys file, as a mapping from gateways to their keys.

    Raises KeysFileError if the file is invalid. The message names the line and the fix.
    """
    try:
        with path.open("rb") as file:
            data = file.read(KEYS_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise KeysFileError(f"the keys file cannot be read: {error}") from error
    if len(data) > KEYS_FILE_BYTES_MAX:
        raise KeysFileError(f"{path}: larger than {KEYS_FILE_BYTES_MAX} bytes: no keys file")
    found: dict[str, Pinned] = {}
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                _take(found, line.split())
            except ValueError as error:
                raise KeysFileError(f"{path}, line {number}: {error}") from None
    return found


def _take(found: dict[str, Pinned], words: list[str]) -> None:
    gateway, public_key, *rest = [*words, ""] if len(words) == 1 else words
    if not _GATEWAY.match(gateway):
        raise ValueError(f"{gateway!r} is no gateway's id: write what `oncegate id` prints")
    if not PUBLIC_KEY.match(public_key):
        raise ValueError(
            f"{public_key!r} is no public key: write what `oncegate id --public-key` prints"
        )
    prefix = None
    if rest and rest[0].startswith(_PREFIX):
        prefix = rest[0].removeprefix(_PREFIX).strip("/")
    before = found.get(gateway, Pinned(()))
    if prefix is not None and before.prefix not in (None, prefix):
        raise ValueError(f"{gateway} has the prefix {before.prefix} already: a gateway has one")
    if len(before.public_keys) >= KEYS_PER_GATEWAY_MAX:
        raise ValueError(
            f"{gateway} has {KEYS_PER_GATEWAY_MAX} keys already: remove those that are not used"
        )
    keys = tuple(key for key in before.public_keys if key != public_key)
    found[gateway] = Pinned((*keys, public_key), before.prefix if prefix is None else prefix)


NO_KEYS: Final[Mapping[str, Pinned]] = {}
"""The value without a keys file: each gateway's first key is trusted."""
