"""Computes digests of the files that `[access.jwt]` and `[access.mysql]` name.

A reload compares these digests to detect changed files.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gateway.configuration import Configuration

SourceFiles = Mapping[str, frozenset[str]]
"""Strings that identify the contents of each source's files, by the source's key in `[access]`. A
file of keys has one string per key."""

_KEY: Final = "key "


def source_files_of(configuration: Configuration) -> SourceFiles:
    """Return digests of the files that each user source reads.

    Call this function before the user source is created. If a file changes during the creation, the
    next reload then detects the change. An unreadable file has no digest, and is reported when the
    source is created.
    """
    access = configuration.access
    files: dict[str, frozenset[str]] = {}
    if access.jwt is not None:
        files["jwt"] = _keys_in(access.jwt.jwks_file) | _digest_of("ca", access.jwt.ca)
    if access.mysql is not None:
        password = _digest_of("password_file", access.mysql.password_file)
        files["mysql"] = password | _digest_of("ca", access.mysql.ca)
    return files


def takes_keys_away(before: SourceFiles, after: SourceFiles) -> bool:
    """Return True if a key was removed from the identity provider's key file."""
    gone = before.get("jwt", frozenset()) - after.get("jwt", frozenset())
    return any(each.startswith(_KEY) for each in gone)


def _keys_in(path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    # Only a broker that accepts tokens loads Python's HTTP client, which takes 1 MB of memory.
    from gateway.broker.access.tokens.fetching import NotFetched  # noqa: PLC0415
    from gateway.broker.access.tokens.provider_keys import from_file  # noqa: PLC0415

    try:
        keys = from_file(path)()
    except NotFetched:
        return frozenset()
    return frozenset(_KEY + json.dumps(key, sort_keys=True) for key in keys)


def _digest_of(name: str, path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
    except OSError:
        return frozenset()
    return frozenset([f"{name} {digest.hexdigest()}"])
