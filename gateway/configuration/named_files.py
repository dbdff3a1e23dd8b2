"""The files that a configuration names: password, rules and token files, certificates and keys."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Final

from gateway.configuration.whole import Configuration

MADE_AT_EACH_START: Final = Path("/run")
"""Folder of files that systemd creates at each start, such as a service's copy of a key that only
root can read."""
NO_FILES: Final = frozenset({"data_dir", "control_dir", "socket", "path"})
"""Keys whose value is the path of a folder, a socket or a device instead of a file."""


def files_named_in(configuration: Configuration) -> list[Path]:
    """Return all files that a configuration and its tenants name, without duplicates."""
    return [*dict.fromkeys(_files_in(configuration))]


def _files_in(value: object) -> Iterator[Path]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _files_in(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _files_in(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for key in fields(value):
            found = getattr(value, key.name)
            if isinstance(found, Path) and key.name not in NO_FILES:
                yield found
            elif not isinstance(found, Path):
                yield from _files_in(found)
