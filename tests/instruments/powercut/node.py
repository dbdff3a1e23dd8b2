"""One file or folder of the disk: what is read of it now, and what is on the medium."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Write(NamedTuple):
    """Some bytes at some place of a file."""

    offset: int
    data: bytes


class Resize(NamedTuple):
    """A new size of a file."""

    size: int


Change = Write | Resize


@dataclass
class Node:
    """A file or folder: its contents as they are read now and as they are on the medium."""

    mode: int
    owner: tuple[int, int] = (0, 0)
    time_ns: int = 0
    current: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[Change] = field(default_factory=list)
    promised: list[Change] = field(default_factory=list)
    """What a lying disk called durable before it was."""

    def change(self, change: Change) -> None:
        """Write or resize, not durable yet."""
        apply(self.current, change)
        self.unsynced.append(change)


def apply(contents: bytearray, change: Change) -> None:
    size = change.size if isinstance(change, Resize) else change.offset
    if len(contents) < size:
        contents.extend(bytes(size - len(contents)))
    if isinstance(change, Resize):
        del contents[size:]
    else:
        contents[size : size + len(change.data)] = change.data
