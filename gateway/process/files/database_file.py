"""Functions that replace a whole SQLite database, or rewrite its write-ahead log (WAL).

A new file is created under another name and then renamed, so that a power cut during the
replacement does no harm. The next start finds either the damaged file or the complete new file.
The files are renamed in this order::

    x.db.new -> x.db.salvaged; x.db -> x.db.damaged-...; x.db.salvaged -> x.db
"""

import logging
import os
import struct
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from gateway.process.files.disk_errors import line_of
from gateway.process.files.durable import fsync_file, fsync_folder, move_durably

logger = logging.getLogger(__name__)

_PAGE_BYTES_MIN = 512
_WAL_HEADER = struct.Struct(">8xI4x8s8x")
_FRAME_HEADER = struct.Struct(">8x8s8x")
_COMPANIONS = ("-wal", "-shm", "-journal")


def rewrite_wal(path: Path) -> None:
    """Write the contents of a database's WAL to the disk again, in case an earlier fsync failed.

    After a failed fsync, Linux marks the pages as clean. The data can still be read, but is never
    written to the disk. SQLite would append to such a WAL, and a power cut would lose all of it.
    Writing the same bytes again marks the pages as dirty, and a new fsync writes them to the disk.
    After a power cut during the rewrite, each sector contains either its old bytes or the same new
    bytes.
    """
    wal = path.with_name(f"{path.name}-wal")
    if not wal.exists():
        return
    with wal.open("r+b", buffering=0) as file:
        try:
            frames = file.read(_frames_end_of(file))
        except OSError as error:
            # SQLite handles unreadable data itself.
            logger.warning("the WAL of %s cannot be read: %s", path, line_of(error))
            return
        file.seek(0)
        while frames:
            frames = frames[file.write(frames) :]
        os.fsync(file.fileno())
    fsync_folder(path.parent)


def _frames_end_of(wal: FileIO) -> int:
    """Return the total size of the WAL's header and its current frames.

    A frame is current if it contains the same salts as the header.

    Format (with big-endian integers): https://www.sqlite.org/fileformat2.html#the_write_ahead_log::

        header  magic u32 | version u32 | page bytes u32 | number u32 | salts 2 * u32 | checksums
        frame   page u32 | pages u32 | salts 2 * u32 | checksums 2 * u32 | page

    After the current frames, the file can contain several MiB of old frames or of zeros.
    """
    header = os.pread(wal.fileno(), _WAL_HEADER.size, 0)
    if len(header) < _WAL_HEADER.size:
        return 0
    page_bytes, salts = _WAL_HEADER.unpack(header)
    if page_bytes < _PAGE_BYTES_MIN:
        return 0
    end = _WAL_HEADER.size
    while os.pread(wal.fileno(), _FRAME_HEADER.size, end)[8:16] == salts:
        end += _FRAME_HEADER.size + page_bytes
    return end


def replace_database(path: Path, make: Callable[[Path], None]) -> Path | None:
    """Replace a database with a new one.

    Return the path to which the old file was moved, or None if there was no old file.

    Args:
        path: path of the database, which need not exist.
        make: function that creates the new database at the given path, and closes it.
    """
    new = path.with_name(f"{path.name}.new")
    for leftover in _files_of(new):
        leftover.unlink()
    make(new)
    fsync_file(new)
    move_durably(new, _salvaged(path))
    return finish_replacement(path)


def finish_replacement(path: Path) -> Path | None:
    """Finish an interrupted replacement of a database, if there is one.

    Return the path to which the old file was moved, or None if there is no old file.
    """
    salvaged = _salvaged(path)
    if not salvaged.exists():
        return None
    aside = _free_name(path)
    old = _files_of(path)
    # All old files are renamed first. Otherwise SQLite would apply the old WAL to the new file.
    for part in old:
        part.rename(aside.with_name(aside.name + part.name.removeprefix(path.name)))
    move_durably(salvaged, path)
    return aside if old else None


def _salvaged(path: Path) -> Path:
    return path.with_name(f"{path.name}.salvaged")


def _free_name(path: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    aside, count = path.with_name(f"{path.name}.damaged-{stamp}"), 1
    while _files_of(aside):
        count += 1
        aside = path.with_name(f"{path.name}.damaged-{stamp}-{count}")
    return aside


def _files_of(path: Path) -> list[Path]:
    """Return the existing files of a database: the main file, WAL, shared memory and journal."""
    names = [path.with_name(path.name + suffix) for suffix in ("", *_COMPANIONS)]
    return [name for name in names if name.exists()]
