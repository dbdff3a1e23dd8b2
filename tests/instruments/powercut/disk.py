"""A disk that promises no more than POSIX: data without an fsync may be lost in a cut.

A file's contents are durable after its fsync, and a name after the fsync of its folder. Newer data
may or may not survive a cut, as random choices decide:

- Of a file's unsynced writes, nothing survives, or everything, or a beginning that ends inside a
  write, or each sector as it was at some time since the fsync. In the last case later writes may
  survive without earlier ones. A sector is never torn.
- Of created, changed and removed names, a beginning survives: folders are kept in order, as in
  every file system with a journal. The fsync of a file guarantees nothing about its name.
- A file's new size may survive without its contents, which then read as zeros.

This module is the model only, without FUSE and without time. `survivors` does not change the disk,
so the same moment can be cut with many random choices.
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
"""An atomic change: (folder, name) now refers to this file, or to none."""


@dataclass
class Disk:
    """Files and folders, and how much of both is durable."""

    is_lying: bool = False
    """A lying disk: an fsync makes durable only what the previous fsync covered."""

    capacity_bytes: int | None = None
    nodes: dict[int, Node] = field(default_factory=lambda: {ROOT: Node(stat.S_IFDIR | 0o755)})
    names: dict[tuple[int, str], int] = field(default_factory=dict)
    durable_names: dict[tuple[int, str], int] = field(default_factory=dict)
    unsynced_names: list[NameChange] = field(default_factory=list)

    # Names

    def number_of(self, path: str) -> int:
        """Return the number of the node at a path."""
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
        """Return the names in a folder."""
        return [name for parent, name in self.names if parent == folder]

    def path_of(self, number: int) -> str:
        """Return a path of a node, or an empty string if it has no name any more."""
        parts: list[str] = []
        while number != ROOT:
            place = next((place for place, linked in self.names.items() if linked == number), None)
            if place is None:
                return ""
            number, name = place
            parts.append(name)
        return "/" + "/".join(reversed(parts))

    def link_count_of(self, number: int) -> int:
        """Return the number of names of a node."""
        return sum(linked == number for linked in self.names.values())

    def create(self, path: str, node: Node) -> int:
        """Create a file, folder or socket with a new name."""
        place = self._place_of(path)
        if place in self.names:
            raise _error(errno.EEXIST)
        number = max(self.nodes) + 1
        self.nodes[number] = node
        self._rename((place, number))
        return number

    def link(self, path: str, other_path: str) -> None:
        """Give a node an additional name."""
        place = self._place_of(other_path)
        if place in self.names:
            raise _error(errno.EEXIST)
        self._rename((place, self.number_of(path)))

    def remove(self, path: str) -> None:
        """Remove a name. A folder must be empty."""
        number = self.number_of(path)
        if self.children_of(number):
            raise _error(errno.ENOTEMPTY)
        self._rename((self._place_of(path), None))

    def rename(self, path: str, new_path: str) -> None:
        """Rename a node atomically, replacing another node of that name."""
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
        """Truncate a file, or extend it with zeros."""
        self._refuse_if_full(number, size)
        self.nodes[number].change(Resize(size))

    def used_bytes(self) -> int:
        """Return the total size of all files."""
        return sum(len(node.current) for node in self.nodes.values())

    def _refuse_if_full(self, number: int, size: int) -> None:
        growth = size - len(self.nodes[number].current)
        if self.capacity_bytes is not None and growth > 0:
            self.forget_unnamed()
            if self.used_bytes() + growth > self.capacity_bytes:
                raise _error(errno.ENOSPC)

    def forget_unnamed(self) -> None:
        """Delete nodes that have no name now or after any cut.

        Open files may need them until then.
        """
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
        """Drop unsynced writes, as Linux does after a failed fsync: it marks the pages as clean."""
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
        """Return the contents of the medium after a cut now."""
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
