"""What the files hold that `[access.jwt]` and `[access.mysql]` name: a reload compares it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gateway.access.fetching import NotFetched
from gateway.access.provider_keys import from_file
from gateway.configuration import Configuration

SourceFiles = Mapping[str, frozenset[str]]
"""By the source's key in `[access]`: a text for each file, or for each key in a file of keys."""

_KEY: Final = "key "


def source_files_of(configuration: Configuration) -> SourceFiles:
    """Return what is in the files of each source that has some.

    Of a file that cannot be read nothing is in it: why is up to what the source is made by. To be
    read before the source is made, so that what changes between the two is noticed.
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
    """Return whether a key that has proven users is not in the provider's file any more."""
    gone = before.get("jwt", frozenset()) - after.get("jwt", frozenset())
    return any(each.startswith(_KEY) for each in gone)


def _keys_in(path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
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
