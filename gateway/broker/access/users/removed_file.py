"""The file that records removed users (docs/formats/removed-users.md).

Only `load` and `save` access the file system.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gateway.broker.access.errors import AccessFileError
from gateway.process.files.durable import replace_durably
from gateway.process.files.private import open_private

FILE_NAME: Final = "broker.removed-users.json"
FORMAT: Final = 1

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Size of the file, at most: four times the size of all names in the largest password file."""


class RemovedFileError(AccessFileError):
    """Error raised if the removed-users file cannot be read or is invalid."""


@dataclass(frozen=True)
class RemovedFile:
    """Contents of the removed-users file: user names, expiry times and client certificates."""

    listed: frozenset[str] = frozenset()
    """Users that were in the password file when it was last loaded."""
    removed: frozenset[str] = frozenset()
    """Users who no longer exist in their user source but still have a session."""
    expiry_ms: Mapping[str, int | None] = field(default_factory=dict)
    """Expiry times of credentials by user name, for users who are not in the password file.

    Times are in milliseconds of gateway time, a clock that never jumps. None means that the
    credential is valid as long as the database contains the user.
    """
    certificates: Mapping[str, str] = field(default_factory=dict)
    """Certificate with which the client of a stored session logged in, by client identifier."""


def load(path: Path) -> RemovedFile:
    """Load the removed-users file. Return empty contents if the file does not exist.

    Raises:
        RemovedFileError: the file cannot be read, or has the wrong format.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: open_private(Path(name), flags)) as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return RemovedFile()
    except OSError as error:
        raise RemovedFileError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return _contents_in(data)
    except (ValueError, RecursionError) as error:
        raise RemovedFileError(f"{path}: is no file of removed users: {error}") from error


def _contents_in(data: bytes) -> RemovedFile:
    document = json.loads(data) if len(data) <= FILE_BYTES_MAX else None
    if not isinstance(document, dict):
        raise ValueError("expected an object")
    if document.get("format") != FORMAT:
        raise ValueError(f"it has format {document.get('format')!r}, expected {FORMAT}")
    return RemovedFile(
        _names_in(document.get("known")),
        _names_in(document.get("removed")),
        _expiry_in(document.get("proven_until_ms", {})),
        _certificates_in(document.get("certificates", {})),
    )


def _names_in(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("expected a list of names")
    return frozenset(value)


def _expiry_in(value: object) -> dict[str, int | None]:
    if not isinstance(value, dict) or not all(
        each is None or (isinstance(each, int) and not isinstance(each, bool))
        for each in value.values()
    ):
        raise ValueError("expected an object of times, each a whole number or null")
    return dict(value)


def _certificates_in(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError("expected an object of certificates, each a text")
    return dict(value)


def text_of(contents: RemovedFile) -> bytes:
    """Return the JSON text of a removed-users file with the given contents."""
    document = {
        "format": FORMAT,
        "known": sorted(contents.listed),
        "removed": sorted(contents.removed),
        "proven_until_ms": dict(sorted(contents.expiry_ms.items())),
        "certificates": dict(sorted(contents.certificates.items())),
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def save(path: Path, contents: RemovedFile) -> None:
    """Replace the removed-users file durably with new contents. Raises OSError if writing fails."""
    replace_durably(path, text_of(contents), partial=path.with_name(f"{path.name}.partial"))
