"""Classifies files in a data directory by name: identity, data, or not included in backups.

The identity is the gateway's id and its signing keys. The data is everything that the programs
store, such as the journal and the queues.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.process.files.private import PREFIXES_OF_OURS

IDENTITY: Final = ("gateway-id", "log/signing-key", "log/signing-key.pub")
"""Files with the gateway's id and signing key. Each tenant has its own signing key."""
TENANTS: Final = "tenants"

_FOLDERS: Final = frozenset({"journal", "log", "history", "bridge", "uplink"})
_FILES: Final = frozenset({"decoy-key"})
_EXCLUDED_ENDINGS: Final = (".lock", ".sock", ".partial", ".part", "-shm", "/lock")
"""Endings of locks, sockets, partly written files, and SQLite's shared memory."""


def is_identity(path: str) -> bool:
    """Return True if `path` in the data directory is an identity file (id or keys)."""
    return _within_tenant(path) in IDENTITY


def is_data(path: str) -> bool:
    """Return True if `path` in the data directory is a data file, which a backup can include."""
    inner = _within_tenant(path)
    if inner in IDENTITY or inner.endswith(_EXCLUDED_ENDINGS):
        return False
    return is_top_of_data(inner.partition("/")[0])


def is_top_of_data(name: str) -> bool:
    """Return True if the programs store data in a file or folder with the name `name`.

    The file or folder is directly in the data directory, or in a tenant's folder. Examples are
    `journal` and `broker.db`.
    """
    return name in _FOLDERS or name in _FILES or name.startswith(PREFIXES_OF_OURS)


def is_set_aside(path: str) -> bool:
    """Return True if a restore of all data must first move away an existing file at `path`."""
    return is_top_of_data(_within_tenant(path).partition("/")[0])


def identity_in(data_dir: Path) -> Iterator[str]:
    """Yield the paths of the identity files (ids and keys) of the gateway and its tenants.

    Missing files are left out.
    """
    for folder in folders_in(data_dir):
        for name in IDENTITY:
            path = f"{folder}{name}"
            if (data_dir / path).exists():
                yield path


def data_in(data_dir: Path) -> Iterator[str]:
    """Yield the paths of all data files, in sorted order.

    Raises `OSError` if a folder cannot be read.
    """
    for folder in folders_in(data_dir):
        for entry in sorted((data_dir / folder).iterdir()):
            if not is_top_of_data(entry.name):
                continue
            for path in _files_below(entry):
                relative = path.relative_to(data_dir).as_posix()
                if is_data(relative):
                    yield relative


def folders_in(data_dir: Path) -> list[str]:
    """Return the gateway's and its tenants' folders in a data directory, as prefixes of paths.

    The gateway's prefix is empty, and a tenant's prefix is `tenants/NAME/`.
    """
    tenants = data_dir / TENANTS
    names = sorted(each.name for each in tenants.iterdir()) if tenants.is_dir() else []
    return ["", *(f"{TENANTS}/{name}/" for name in names if (tenants / name).is_dir())]


def _files_below(entry: Path) -> Iterator[Path]:
    """Yield all files below the folder `entry`, or `entry` itself if it is a file.

    Links are not followed.
    """
    if not entry.is_dir() or entry.is_symlink():
        yield entry
        return
    for folder, names, files in os.walk(entry):
        names.sort()
        yield from (Path(folder, name) for name in sorted(files))


def _within_tenant(path: str) -> str:
    """Return a path without the prefix `tenants/NAME/`. Paths without this prefix are unchanged."""
    parts = path.split("/", 2)
    return parts[2] if parts[0] == TENANTS and len(parts) == 3 else path
