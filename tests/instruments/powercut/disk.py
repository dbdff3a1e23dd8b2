"""A disk that promises no more than POSIX does: what was not fsynced may be gone after a cut.

A file's contents are durable once it was fsynced, a name once its folder was. What is younger than
that reaches the medium or not, as the dice of a cut have it:

- of a file's unsynced writes nothing, everything, a beginning that ends inside a write, or each
  sector as it was at some instant since the fsync, so that later writes may be there and earlier
  ones not. A sector does not tear;
- of the names made, changed and removed a beginning: folders are kept in order, as every file
  system with a journal keeps them. Fsyncing a file guarantees nothing about its name;
- a file's new size with or without its contents: then it reads as zeros.

This is the model only: it knows no FUSE and no time. `survivors` leaves the disk as it is, so that
the same instant can be cut by many dice.
"""

import errno
import os
import random
import stat
from dataclasses import dataclass, field

from tests.instruments.powercut.node import Node, Resize, Write, apply
from tests.instruments.powercut.survival import Loss, survivor_of

ROOT = 1
"""The number of the root folder."""


NameChange = tuple[tuple[tuple[int, str], int | None], ...]
"""What happens immediately: (folder, name) leads to this file from now on, or to none."""


@dataclass
class Disk:
    """Files, folders, and how much of both is on the medium."""

    is_lying: bool = False
    """Whether an fsync makes durable only what the one before it was asked to."""

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

    def path_of(self, number: int) -> str:
        """A path that leads to a node, empty where no name does any more."""
        parts: list[str] = []
        while number != ROOT:
            place = next((place for place, linked in self.names.items() if linked == number), None)
            if place is None:
                return ""
            number, name = place
            parts.append(name)
        return "/" + "/".join(reversed(parts))

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
            apply(node.durable, change)
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
            number: survivor_of(self.nodes[number], dice, loss)
            for number in sorted(set(names.values()))
        }
        return after, loss


def _apply_names(names: dict[tuple[int, str], int], changes: NameChange) -> None:
    for place, number in changes:
        if number is None:
            names.pop(place, None)
        else:
            names[place] = number


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
