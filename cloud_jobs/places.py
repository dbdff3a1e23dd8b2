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
