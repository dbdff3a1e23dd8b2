"""The disk as a mounted file system, in a separate process, with a power switch.

`python -m tests.instruments.powercut.drive MEDIUM MOUNTPOINT` loads the folder MEDIUM, mounts it
and takes commands as JSON lines on its standard input:

    {"do": "arm", "instant": "before a change", "count": 40, "seconds": 0.5}
                                           cut before the 40th change, at the latest after
                                           0.5 s
    {"do": "set", "read_only": true, ...}  change fields of `Faults`
    {"do": "cut", "seed": 7, "medium": "FOLDER"}
                                           cut now if the power is still on, write what
                                           survives into FOLDER, and exit

It answers with {"event": "ready"}, {"event": "dark", "at": "fsync /broker.db-wal"}, {"event":
"set"} and {"event": "cut", ...} on its standard output.

While the power is off no operation returns, so no process can react to an error that a dead machine
would not have seen. If those processes are killed afterwards, it is as if they were killed at the
moment of the cut.
"""

import contextlib
import errno
import json
import os
import random
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn

import mfusepy

from tests.instruments.powercut import medium
from tests.instruments.powercut.disk import Disk
from tests.instruments.powercut.faults import Faults
from tests.instruments.powercut.node import Node
from tests.instruments.powercut.power import Power, say

BLOCK_BYTES = 4096

THREADS = 8
"""Enough for reads to continue while some fsyncs are slow."""


class Drive(mfusepy.Operations):  # type: ignore[misc] # a library without types
    """The disk as the operations of libfuse."""

    use_ns = True

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.power = Power()
        self.faults = Faults()

    def set_faults(self, **faults: Any) -> None:
        """Change the given faults of the disk. The other faults stay."""
        with self.power.operation():
            self.faults = Faults(**(asdict(self.faults) | faults))
            free = self.faults.free_bytes
            self.disk.is_lying = self.faults.is_lying
            self.disk.capacity_bytes = None if free is None else self.disk.used_bytes() + free

    def init_with_config(self, conn_info: Any, config_3: Any) -> None:
        # SQLite distinguishes its files by inode number.
        config_3.use_ino = 1
        # An open file stays after its name is removed. Its handle is the node's number.
        config_3.hard_remove = 1
        say("ready")

    def _number(self, path: str | None, handle: int | None) -> int:
        if handle:
            return handle
        assert path is not None
        return self.disk.number_of(path)

    @contextlib.contextmanager
    def _change(self, name: str, subject: object) -> Iterator[None]:
        with self.power.change(name, subject):
            if self.faults.read_only:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            yield

    # Reading

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        with self.power.operation():
            number = self._number(path, fh)
            node = self.disk.nodes[number]
            times = dict.fromkeys(("st_atime", "st_mtime", "st_ctime"), node.time_ns)
            return times | {
                "st_ino": number,
                "st_mode": node.mode,
                "st_nlink": self.disk.link_count_of(number),
                "st_size": len(node.current),
                "st_blocks": (len(node.current) + 511) // 512,
                "st_uid": node.owner[0],
                "st_gid": node.owner[1],
            }

    def opendir(self, path: str) -> int:
        with self.power.operation():
            return self.disk.number_of(path)

    def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, int], int]]:
        # glibc skips entries without an inode number.
        with self.power.operation():
            return [
                (name, {"st_ino": number, "st_mode": self.disk.nodes[number].mode}, 0)
                for (folder, name), number in self.disk.names.items()
                if folder == fh
            ]

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        with self.power.operation():
            if self.faults.read_fails or self.faults.short_reads:
                size = self.faults.reading(self.disk.path_of(fh), offset, size)
            return bytes(self.disk.nodes[fh].current[offset : offset + size])

    def statfs(self, path: str) -> dict[str, int]:
        with self.power.operation():
            used = self.disk.used_bytes()
            total = self.disk.capacity_bytes or 1 << 34
            free = max(0, total - used) // BLOCK_BYTES
            blocks = total // BLOCK_BYTES
            return {
                "f_bsize": BLOCK_BYTES,
                "f_frsize": BLOCK_BYTES,
                "f_blocks": blocks,
                "f_bfree": free,
                "f_bavail": free,
            }

    # Names

    def _create(self, name: str, path: str, mode: int) -> int:
        user, group, _ = mfusepy.fuse_get_context()
        with self._change(name, path):
            return self.disk.create(path, Node(mode, (user, group), time.time_ns()))

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return self._create("create", path, mode)

    def mknod(self, path: str, mode: int, dev: int) -> int:
        if self.faults.no_sockets and stat.S_ISSOCK(mode):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._create("mknod", path, mode)
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        self._create("mkdir", path, stat.S_IFDIR | mode)
        return 0

    def link(self, target: str, source: str) -> int:
        with self._change("link", target):
            self.disk.link(source, target)
        return 0

    def unlink(self, path: str) -> int:
        with self._change("unlink", path):
            self.disk.remove(path)
        return 0

    def rmdir(self, path: str) -> int:
        with self._change("rmdir", path):
            self.disk.remove(path)
        return 0

    def rename(self, old: str, new: str) -> int:
        with self._change("rename", old):
            self.disk.rename(old, new)
        return 0

    # Contents

    def open(self, path: str, flags: int) -> int:
        if flags & os.O_TRUNC:
            self.truncate(path, 0)
        with self.power.operation():
            return self.disk.number_of(path)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        with self._change("write", fh):
            if self.faults.write_fails or self.faults.short_writes:
                data = data[: self.faults.writing(self.disk.path_of(fh), len(data))]
            self.disk.write(fh, offset, data)
            self.disk.nodes[fh].time_ns = time.time_ns()
            return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        with self._change("truncate", path):
            self.disk.resize(self._number(path, fh), length)
        return 0

    def chmod(self, path: str, mode: int) -> int:
        with self._change("chmod", path):
            self.disk.nodes[self.disk.number_of(path)].mode = mode
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        with self._change("chown", path):
            self.disk.nodes[self.disk.number_of(path)].owner = (uid, gid)
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        with self._change("utimens", path):
            modified = time.time_ns() if times is None else times[1]
            self.disk.nodes[self.disk.number_of(path)].time_ns = modified
        return 0

    # Durability

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        if self.faults.fsync_seconds:
            time.sleep(self.faults.fsync_seconds)
        with self.power.change("fsync", fh):
            if self.faults.fsync_fails and self.faults.does_fsync_fail(self.disk.path_of(fh)):
                self.disk.fail_sync(fh)
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self.disk.sync(fh)
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        return self.fsync(path, datasync, fh)


class Mount(mfusepy.FUSE):  # type: ignore[misc] # a library without types
    """The mounted drive. Files with short reads bypass the page cache."""

    def open(self, path: bytes, fip: Any) -> int:
        pattern = self.operations.faults.short_reads
        if pattern and fnmatchcase(path.decode(), pattern):
            fip.contents.direct_io = 1
        return int(super().open(path, fip))


def obey(drive: Drive, mountpoint: str) -> NoReturn:
    """Take commands until a cut, or until the parent process has ended."""
    for line in sys.stdin:
        command = json.loads(line)
        match command.pop("do"):
            case "arm":
                drive.power.arm(**command)
            case "set":
                drive.set_faults(**command)
                say("set")
            case "cut":
                drive.power.switch_off("the command to")
                after, loss = drive.disk.survivors(random.Random(command["seed"]))  # noqa: S311
                medium.save(after, Path(command["medium"]))
                say("cut", **asdict(loss))
                # Waiting operations must never return: this process ends with them.
                os._exit(0)
    # The parent was killed, so unmount.
    subprocess.run(["umount", "--lazy", mountpoint], check=False)
    os._exit(1)


def main(folder: str, mountpoint: str) -> None:
    """Mount a folder's contents, and take commands."""
    drive = Drive(medium.load(Path(folder)))
    threading.Thread(target=obey, args=(drive, mountpoint), daemon=True).start()
    Mount(drive, mountpoint, foreground=True, max_threads=THREADS, fsname="oncegate-powercut")


if __name__ == "__main__":
    main(*sys.argv[1:])
