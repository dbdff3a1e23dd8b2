"""Locations of files and tables as a person writes them: a path or a URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit


def local_directory(place: str) -> Path | None:
    """Return the directory for a path or a file URL, or None for any other URL."""
    parts = urlsplit(place)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(place)


def absolute(place: str) -> str:
    """Return a path as an absolute path, and a URL unchanged.

    SQL would interpret a relative path as the name of a schema.
    """
    directory = local_directory(place)
    return place if directory is None or urlsplit(place).scheme else str(directory.absolute())
