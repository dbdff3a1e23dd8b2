"""A landed file (uploaded to the source), identified by the path that Spark uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Landed:
    """A landed file that is to be examined."""

    path: str
    file_bytes: int


def name_of(path: str) -> str:
    """Return the name of a file without its folders."""
    return path.rpartition("/")[2]
