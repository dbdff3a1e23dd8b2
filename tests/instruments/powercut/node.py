"""A file or folder of the disk: its current contents, and its durable ones."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Write(NamedTuple):
    """A write of some bytes at an offset."""

    offset: int
    data: bytes


class Resize(NamedTuple):
    """A change of a file's size."""

    size: int


Change = Write | Resize


@dataclass
class Node:
    """A file or folder: its current contents, and its contents on the medium."""

    mode: int
    owner: tuple[int, int] = (0, 0)
    time_ns: int = 0
    current: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[Change] = field(default_factory=list)
    promised: list[Change] = field(default_factory=list)
    """Changes that a lying disk has reported as durable, but which are not."""

    def change(self, change: Change) -> None:
        """Write or resize. The change is not durable yet."""
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
