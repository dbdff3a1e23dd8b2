"""A disk that promises no more than POSIX does: what was not fsynced may be gone after a cut.

A file's contents are durable once it was fsynced, a name once its folder was. What is younger than
that reaches the medium or not, as the dice of a cut have it:

- of a file's unsynced writes nothing, everything, a beginning that ends inside a write, or each
  sector as it was at some instant since the fsync, so that later writes may be there and earlier
  ones not. A sector does not tear;
- of the names made, changed and removed a beginning: folders are kept in order, as every file
  system with a journal keeps them. Fsyncing a file says nothing about its name;
- a file's new size with or without its contents: then it reads as zeros.

This is the model only: it knows no FUSE and no time. `survivors` leaves the disk as it is, so that
the same instant can be cut by many dice.
"""

import errno
import os
import random
import stat
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

SECTOR_BYTES = 512
"""What a disk writes whole or not at all."""

ROOT = 1
"""The number of the root folder."""


class Write(NamedTuple):
    """Some bytes at some place of a file."""

    offset: int
    data: bytes


class Resize(NamedTuple):
    """A new size of a file."""

    size: int


Change = Write | Resize
NameChange = tuple[tuple[tuple[int, str], int | None], ...]
"""What happens at once: (folder, name) leads to this file from now on, or to none."""


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
        _apply(self.current, change)
        self.unsynced.append(change)


@dataclass
class Loss:
    """What a cut found unsynced, and what it took."""

    writes: int = 0
    sectors_kept: int = 0
    sectors_lost: int = 0
    names_kept: int = 0
    names_lost: int = 0


@dataclass
class Disk:
    """Files, folders, and how much of both is on the medium."""

    is_lying: bool = False
    """Whether an fsync makes durable only what the one before it was told to."""

    capacity_bytes: int | None = None
    nodes: dict[int, Node] = field(default_factory=lambda: {ROOT: Node(stat.S_IFDIR | 0o755)})
    names: dict[tuple[int, str], int] = field(default_factory=dict)
    durable_names: dict[tuple[int, str], int] = field(default_factory=dict)
    unsynced_names: list[NameChange] = field(default_factory=list)

    # Names

    def number_of(self, path: str) -> int:
        """The number of the node that a path leads to."""
        number = ROOT
        for name in path.split("/"):
            if name:
                number = self._child_of(number, name)
        return number

    def _child_of(self, folder: int, name: str) -> int:
        try:
            return self.names[folder, name]
        except KeyError:
            raise _error(errno.ENOENT) from None

    def _place_of(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self.number_of(folder), name

    def children_of(self, folder: int) -> list[str]:
        """The names in a folder."""
        return [name for parent, name in self.names if parent == folder]

    def link_count_of(self, number: int) -> int:
        """How many names lead to a node."""
        return sum(linked == number for linked in self.names.values())

    def create(self, path: str, node: Node) -> int:
        """Make a file, folder or socket under a new name."""
        place = self._place_of(path)
        if place in self.names:
            raise _error(errno.EEXIST)
        number = max(self.nodes) + 1
        self.nodes[number] = node
        self._rename((place, number))
        return number

    def link(self, path: str, other_path: str) -> None:
        """Give a node one more name."""
        place = self._place_of(other_path)
        if place in self.names:
            raise _error(errno.EEXIST)
        self._rename((place, self.number_of(path)))

    def remove(self, path: str) -> None:
        """Take a name away; a folder must be empty."""
        number = self.number_of(path)
        if self.children_of(number):
            raise _error(errno.ENOTEMPTY)
        self._rename((self._place_of(path), None))

    def rename(self, path: str, new_path: str) -> None:
        """Give a node another name, in one step, also where that name was taken."""
        number, target = self.number_of(path), self._place_of(new_path)
        if target in self.names and self.children_of(self.names[target]):
            raise _error(errno.ENOTEMPTY)
        self._rename((self._place_of(path), None), (target, number))

    def _rename(self, *changes: tuple[tuple[int, str], int | None]) -> None:
        _apply_names(self.names, changes)
        self.unsynced_names.append(changes)

    # Contents

    def write(self, number: int, offset: int, data: bytes) -> None:
        """Write into a file."""
        self._refuse_if_full(number, offset + len(data))
        self.nodes[number].change(Write(offset, data))

    def resize(self, number: int, size: int) -> None:
        """Cut a file off, or let it grow with zeros."""
        self._refuse_if_full(number, size)
        self.nodes[number].change(Resize(size))

    def used_bytes(self) -> int:
        """The size of all files."""
        return sum(len(node.current) for node in self.nodes.values())

    def _refuse_if_full(self, number: int, size: int) -> None:
        growth = size - len(self.nodes[number].current)
        if self.capacity_bytes is not None and growth > 0:
            self.forget_unnamed()
            if self.used_bytes() + growth > self.capacity_bytes:
                raise _error(errno.ENOSPC)

    def forget_unnamed(self) -> None:
        """Let go of what no name leads to, now or after any cut (open files may need it)."""
        named = {ROOT, *self.names.values(), *self.durable_names.values()}
        for changes in self.unsynced_names:
            named.update(number for _, number in changes if number is not None)
        self.nodes = {number: node for number, node in self.nodes.items() if number in named}

    # Durability

    def sync(self, number: int) -> None:
        """Make a file's contents, or the names in a folder, durable."""
        node = self.nodes[number]
        if stat.S_ISDIR(node.mode):
            self._sync_names(number)
            return
        now_durable = node.promised if self.is_lying else node.unsynced
        for change in now_durable:
            _apply(node.durable, change)
        node.promised, node.unsynced = (node.unsynced if self.is_lying else []), []

    def fail_sync(self, number: int) -> None:
        """A failed fsync on Linux: the pages count as clean, and never reach the medium."""
        self.nodes[number].unsynced.clear()

    def _sync_names(self, folder: int) -> None:
        last = 0
        for index, changes in enumerate(self.unsynced_names, 1):
            if any(parent == folder for (parent, _), _ in changes):
                last = index
        for changes in self.unsynced_names[:last]:
            _apply_names(self.durable_names, changes)
        del self.unsynced_names[:last]

    # The cut

    def survivors(self, dice: random.Random) -> tuple["Disk", Loss]:
        """What is on the medium after a cut now."""
        loss = Loss()
        kept = dice.randint(0, len(self.unsynced_names))
        loss.names_kept, loss.names_lost = kept, len(self.unsynced_names) - kept
        names = dict(self.durable_names)
        for changes in self.unsynced_names[:kept]:
            _apply_names(names, changes)
        after = Disk(is_lying=self.is_lying, names=names, durable_names=dict(names))
        after.nodes |= {
            number: _survivor_of(self.nodes[number], dice, loss)
            for number in sorted(set(names.values()))
        }
        return after, loss


def _survivor_of(node: Node, dice: random.Random, loss: Loss) -> Node:
    contents = bytearray(node.durable)
    changes = [*node.promised, *node.unsynced]
    loss.writes += len(changes)
    sectors = [sector for change in changes for sector in sectors_of(change)]
    kept = _kept_of(sectors, dice)
    for sector in kept:
        _apply(contents, sector)
    if changes and len(contents) < len(node.current) and dice.random() < 0.5:
        _apply(contents, Resize(len(node.current)))
    loss.sectors_kept += len(kept)
    loss.sectors_lost += len(sectors) - len(kept)
    return Node(node.mode, node.owner, node.time_ns, contents, bytearray(contents))


def _kept_of(sectors: list[Change], dice: random.Random) -> list[Change]:
    match dice.choice(("nothing", "everything", "beginning", "scattered")):
        case "nothing":
            return []
        case "everything":
            return sectors
        case "beginning":
            return sectors[: dice.randint(0, len(sectors))]
        case _:
            return _scattered(sectors, dice)


def _scattered(sectors: list[Change], dice: random.Random) -> list[Change]:
    """Each sector as it was at some instant: all of its writes up to one of them, or none."""
    chance = dice.random()
    writes = Counter(map(_place_of, sectors))
    left = {
        place: dice.randint(1, count) if dice.random() < chance else 0
        for place, count in writes.items()
    }
    kept: list[Change] = []
    for sector in sectors:
        left[_place_of(sector)] -= 1
        if left[_place_of(sector)] >= 0:
            kept.append(sector)
    return kept


def _place_of(sector: Change) -> int:
    # The size has a place of its own.
    return -1 if isinstance(sector, Resize) else sector.offset // SECTOR_BYTES


def sectors_of(change: Change) -> list[Change]:
    """A write as the sectors that it touches: each reaches the medium or not."""
    if isinstance(change, Resize):
        return [change]
    end = change.offset + len(change.data)
    first = change.offset - change.offset % SECTOR_BYTES
    pieces: list[Change] = []
    for start in range(first, end, SECTOR_BYTES):
        begin = max(start, change.offset)
        until = min(start + SECTOR_BYTES, end)
        piece = change.data[begin - change.offset : until - change.offset]
        pieces.append(Write(begin, piece))
    return pieces


def _apply(contents: bytearray, change: Change) -> None:
    size = change.size if isinstance(change, Resize) else change.offset
    if len(contents) < size:
        contents.extend(bytes(size - len(contents)))
    if isinstance(change, Resize):
        del contents[size:]
    else:
        contents[size : size + len(change.data)] = change.data


def _apply_names(names: dict[tuple[int, str], int], changes: NameChange) -> None:
    for place, number in changes:
        if number is None:
            names.pop(place, None)
        else:
            names[place] = number


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
