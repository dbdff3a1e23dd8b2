"""Where sealed segments go. A target takes a file's bytes under its name, once or many times.

`put` returns when the target has exactly these bytes under this name and will keep them; putting
the same segment again changes nothing. It raises `TargetError` otherwise.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from gateway.history.durable import fsync_directory, make_directory, write_durably
from gateway.history.object_store import OBJECT_SCHEMES, ObjectStoreTarget
from gateway.history.redaction import shown_target
from gateway.history.target_error import TargetError
from gateway.history.trouble import kind_of, sentence_of


class Target(Protocol):
    async def put(self, name: str, data: bytes) -> None: ...


class DirectoryTarget:
    """A directory: a USB disk, a network mount, or the place where a test or `ingest` looks.

    obstore's own directory store does not fsync; a segment that a power cut may take back must not
    be moved to log/sent.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def put(self, name: str, data: bytes) -> None:
        try:
            await asyncio.to_thread(self._put, name, data)
        except OSError as problem:
            raise TargetError(sentence_of(problem), kind_of(problem)) from problem

    def _put(self, name: str, data: bytes) -> None:
        if not self._directory.parent.is_dir():
            # Making all of it would fill the card under a mount point whose disk is not there.
            raise TargetError(
                f"{self._directory.parent} does not exist: mount the disk, make the directory or "
                "change [upload] target",
                "no directory",
            )
        make_directory(self._directory)
        path = self._directory / name
        if path.is_file() and path.read_bytes() == data:
            # It may stand there from a run that was cut before it could fsync.
            with path.open("rb") as file:
                os.fsync(file.fileno())
            fsync_directory(self._directory)
            return
        write_durably(path, data, partial=self._directory / f".{name}.partial")


def target_of(url: str) -> Target:
    """The target that a URL names. Raises `TargetError` where it names none."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        if parts.netloc not in {"", "localhost"} or not path.is_absolute():
            raise TargetError(f"{shown_target(url)}: write file:///absolute/directory", "url")
        return DirectoryTarget(path)
    if parts.scheme in OBJECT_SCHEMES:
        return ObjectStoreTarget(url)
    raise TargetError(
        f"{shown_target(url)}: the scheme {parts.scheme!r} is not known, use file, "
        + ", ".join(sorted(OBJECT_SCHEMES)),
        "url",
    )
