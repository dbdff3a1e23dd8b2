"""The folders that a test lists: a check of a year of files must not list all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_watching: list[list[Path]] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"os.scandir", "os.listdir"} and _watching:
        for listed in _watching:
            listed.append(Path(str(arguments[0])))


sys.addaudithook(_note)


@contextmanager
def listings() -> Iterator[list[Path]]:
    """Yield the folders that this process lists, in order, once per listing."""
    listed: list[Path] = []
    _watching.append(listed)
    try:
        yield listed
    finally:
        _watching.remove(listed)
