"""Places as a person names them: a path or a URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit


def local_directory(place: str) -> Path | None:
    """Return the directory that a path or a file URL names; None for any other URL."""
    parts = urlsplit(place)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(place)


def absolute(place: str) -> str:
    """Return a place that means the same in every directory: SQL takes a relative path for the
    name of a schema."""
    directory = local_directory(place)
    return place if directory is None or urlsplit(place).scheme else str(directory.absolute())
