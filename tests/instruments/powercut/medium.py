"""A disk's contents as a plain folder: to start from, to damage between two starts, to inspect."""

import os
import stat
from pathlib import Path

from tests.instruments.powercut.disk import Disk
from tests.instruments.powercut.node import Node


def load(folder: Path) -> Disk:
    """Read a folder as a disk on which everything is durable."""
    disk = Disk()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        contents = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        owner = (status.st_uid, status.st_gid)
        node = Node(
            status.st_mode, owner, status.st_mtime_ns, bytearray(contents), bytearray(contents)
        )
        disk.create(str(path.relative_to(folder)), node)
    disk.durable_names = dict(disk.names)
    disk.unsynced_names.clear()
    return disk


def save(disk: Disk, folder: Path) -> None:
    """Write a disk's current contents into a new folder."""
    folder.mkdir()
    _save_children(disk, disk.number_of("/"), folder)


def _save_children(disk: Disk, number: int, folder: Path) -> None:
    for name in disk.children_of(number):
        child = disk.names[number, name]
        node, path = disk.nodes[child], folder / name
        if stat.S_ISDIR(node.mode):
            path.mkdir()
            _save_children(disk, child, path)
        elif stat.S_ISREG(node.mode):
            path.write_bytes(node.current)
            path.chmod(stat.S_IMODE(node.mode))
        else:
            os.mknod(path, node.mode)
