"""The targets for sealed segments. A target stores the contents of a file under the file's name.

When `put` returns, the target has stored these contents durably. If `put` is called again for the
same segment, nothing changes. If `put` fails, it raises `TargetError`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from gateway.process.files.durable import fsync_file, fsync_folder, make_folder, replace_durably
from gateway.process.files.segment_folders import make_subfolder, segment_file_of
from gateway.uploader.faults import kind_of, sentence_of
from gateway.uploader.upload.object_store import OBJECT_SCHEMES, ObjectStoreTarget
from gateway.uploader.upload.redaction import shown_target
from gateway.uploader.upload.target_error import TargetError

MARKER_NAME = ".oncegate-target"
"""Name of a file with which an operator marks a directory as the intended target, even if it is on
the gateway's own disk."""


class Target(Protocol):
    async def put(self, name: str, data: bytes) -> None: ...


class DirectoryTarget:
    """A directory as the target: a USB disk, a network mount, or a local folder.

    obstore's own directory store is not used, because it does not call fsync. A segment must not be
    moved to log/sent while a power cut could still undo the upload.

    If a disk is not mounted, its mount point is an ordinary directory on the gateway's own disk.
    Segments would fill this disk, and would be hidden as soon as the missing disk is mounted.
    A directory on the same disk as the data directory or the system is therefore accepted only in
    two cases: it is inside the data directory (the default), or it contains the marker file.
    """

    def __init__(self, directory: Path, data_dir: Path) -> None:
        self._directory = directory
        self._data_dir = data_dir

    async def put(self, name: str, data: bytes) -> None:
        try:
            await asyncio.to_thread(self._put, name, data)
        except OSError as problem:
            raise TargetError(sentence_of(problem), kind_of(problem)) from problem

    def _put(self, name: str, data: bytes) -> None:
        if not self._directory.parent.is_dir():
            # Creating the whole path would fill the card below a mount point whose disk is missing.
            raise TargetError(
                f"{self._directory.parent} does not exist: mount the disk, make the directory or "
                "change [upload] target",
                "no directory",
            )
        self._refuse_if_not_meant()
        make_folder(self._directory)
        segment = segment_file_of(name)
        folder = make_subfolder(self._directory, segment.number if segment is not None else 0)
        path = folder / name
        if path.is_file() and path.read_bytes() == data:
            # The file may exist from a run that was interrupted before its fsync.
            fsync_file(path)
            fsync_folder(folder)
            return
        replace_durably(path, data, partial=folder / f".{name}.partial")

    def _refuse_if_not_meant(self) -> None:
        """Raise `TargetError` if the directory is probably the mount point of a missing disk."""
        directory = self._directory
        if directory.resolve().is_relative_to(self._data_dir.resolve()):
            return
        place = directory if directory.is_dir() else directory.parent
        own = {self._data_dir.stat().st_dev, Path("/").stat().st_dev}
        if place.stat().st_dev not in own or (directory / MARKER_NAME).exists():
            return
        raise TargetError(
            f"{directory} is on the gateway's own disk: mount the disk that is meant; or, if this "
            f"directory is meant, make a file {MARKER_NAME} in it",
            "own disk",
        )


def target_of(url: str, data_dir: Path, *, checksum_header: bool = True) -> Target:
    """Return the target for a URL. Raises `TargetError` if the URL is not supported.

    `data_dir` is the gateway's data directory.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        if parts.netloc not in {"", "localhost"} or not path.is_absolute():
            raise TargetError(f"{shown_target(url)}: write file:///absolute/directory", "url")
        return DirectoryTarget(path, data_dir)
    if parts.scheme in OBJECT_SCHEMES:
        return ObjectStoreTarget(url, checksum_header=checksum_header)
    raise TargetError(
        f"{shown_target(url)}: the scheme {parts.scheme!r} is not known, use file, "
        + ", ".join(sorted(OBJECT_SCHEMES)),
        "url",
    )
