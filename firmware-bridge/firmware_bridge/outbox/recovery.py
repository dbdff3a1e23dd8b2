"""Opening the outbox, whatever state its file is in: damage never keeps the bridge from starting.

A damaged file is set aside (kept, with a time stamp) and what can be read of it goes into a new
one. Which exchanges the broker still has is then uncertain, so their readings wait again and the
broker's session is given up: after damage a reading may come twice, none that is readable is lost.

A new file is made under another name and takes its place whole, so that a power cut on the way
costs nothing: either the damage is found again, or the new file is found complete::

    outbox.db.new -> outbox.db.salvaged; outbox.db -> outbox.db.damaged-...; -> outbox.db
"""

import contextlib
import json
import logging
import os
import secrets
import sqlite3
import struct
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from firmware_bridge.outbox.board_start import BLOCK_BYTES
from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.disk_space import lacks_room
from firmware_bridge.outbox.formats import blocks_of_ranges
from firmware_bridge.outbox.store import NewerOutbox, OutboxFull, OutboxStore
from gateway.files.durable import fsync_file, fsync_folder, move_durably
from gateway.files.salvage import ReadableRows, is_damage, lengthen_cut_off, lengthen_emptied

logger = logging.getLogger(__name__)

# Starts of one outbox before a number reaches 2**32, where those of boards that begin again are.
_STARTS_MAX = 2**24
_PAGE_BYTES_MIN = 512
_WAL_HEADER = struct.Struct(">8xI4x8s8x")
_FRAME_HEADER = struct.Struct(">8x8s8x")
_COMPANIONS = ("-wal", "-shm", "-journal")


class OutboxError(RuntimeError):
    """The outbox cannot be read or written: one line with the mend."""


def cannot_write(path: Path, error: sqlite3.Error) -> OutboxError:
    """Return the error for an outbox whose disk refuses a write."""
    return OutboxError(
        f"cannot write the outbox {path}: {error}; "
        "free space on the disk or replace it, then start the bridge again"
    )


def open_outbox_store(path: Path) -> OutboxStore:
    """Open the outbox; a damaged or missing one is replaced by a new file, with what can be read.

    Raises:
        OutboxFull: the disk is full.
        OutboxError: not even a new file can be made.
    """
    try:
        _finish_replacement(path)
        if not path.exists():
            _replace(path, None)
        lengthen_emptied(path)
        _rewrite_wal(path)
        try:
            return OutboxStore(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            _replace(path, str(error))
            return OutboxStore(path)
    except NewerOutbox as newer:
        raise OutboxError(
            f"the outbox {path} was written by a newer version of the bridge ({newer}); "
            "install that version again"
        ) from None
    except (sqlite3.Error, OSError) as error:
        if lacks_room(error):
            raise OutboxFull(str(error)) from error
        raise OutboxError(
            f"cannot open the outbox {path}: {error}; check the disk and the directory's rights"
        ) from error


def _rewrite_wal(path: Path) -> None:
    """Make the WAL on the medium what the page cache has for it.

    After a failed fsync Linux counts the pages as clean: reads go on to give what was written, the
    medium never gets it. SQLite would accept such a frame, append behind it, and lose all of that
    at a power cut. The same bytes written once more are pages to be written; a cut amid this finds
    either the old or the same new bytes in each sector.
    """
    wal = path.with_name(f"{path.name}-wal")
    if not wal.exists():
        return
    with wal.open("r+b", buffering=0) as file:
        try:
            frames = file.read(_frames_end_of(file))
        except OSError as error:
            # SQLite judges what cannot be read.
            logger.warning("the outbox's WAL cannot be read: %s", error)
            return
        file.seek(0)
        while frames:
            frames = frames[file.write(frames) :]
        os.fsync(file.fileno())
    fsync_folder(path.parent)


def _frames_end_of(wal: FileIO) -> int:
    """Count the bytes of frames of the WAL that is in use: those with the header's salts.

    https://www.sqlite.org/fileformat2.html#the_write_ahead_log, integers big-endian::

        header  magic u32 | version u32 | page bytes u32 | number u32 | salts 2 * u32 | checksums
        frame   page u32 | pages u32 | salts 2 * u32 | checksums 2 * u32 | page

    Behind them lie older ones, or zeros where blocks were reserved: several MiB.
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


def _replace(path: Path, damage: str | None) -> None:
    """Put a new outbox in its place, filled with what can be read of a damaged one."""
    new = path.with_name(f"{path.name}.new")
    for leftover in _files_of(new):
        leftover.unlink()
    count = _fill(new, path if damage is not None else None)
    fsync_file(new)
    move_durably(new, _salvaged(path))
    aside = _finish_replacement(path)
    if damage is not None:
        logger.error(
            "the outbox was damaged (%s): %d readings salvaged, the old file is kept as %s",
            damage,
            count,
            aside,
        )


def _finish_replacement(path: Path) -> Path | None:
    """Let what was made take its place; the name under which the old file is kept, if any was."""
    salvaged = _salvaged(path)
    if not salvaged.exists():
        return None
    aside = _free_name(path)
    old = _files_of(path)
    # All of them, before the new file comes: SQLite would read the old one's WAL into it.
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
    """Return the files of the database (itself, WAL and others) that exist."""
    names = [path.with_name(path.name + suffix) for suffix in ("", *_COMPANIONS)]
    return [name for name in names if name.exists()]


def _fill(new: Path, damaged_path: Path | None) -> int:
    """Make an outbox with what can be read of another; how many readings that was."""
    store = OutboxStore(new)
    count = 0
    store.begin()
    if damaged_path is not None:
        lengthen_cut_off(damaged_path)
        with contextlib.closing(sqlite3.connect(damaged_path)) as damaged:
            count = _salvage_readings(damaged, store)
            _salvage_boards(damaged, store)
    # Numbers that a lost outbox gave must not come again, whatever the time is: 1 in 2**31 for
    # each of its starts. Above the times of day with which earlier versions began.
    first = secrets.randbelow(2**31 - _STARTS_MAX) + 2**31
    store.set_property("starts", str(first))
    store.commit()
    store.close()
    return count


def _salvage_readings(damaged: sqlite3.Connection, store: OutboxStore) -> int:
    count = torn = highest = 0
    # From both ends: a broken page in the middle hides neither the oldest nor the newest rows.
    for order in ("ASC", "DESC"):
        query = f"SELECT number, topic, payload FROM readings ORDER BY number {order}"  # noqa: S608
        for number, topic, payload in _readable(damaged, query):
            if order == "DESC" and number <= highest:
                break
            if _is_whole(topic, payload):
                count += store.restore(number, topic, payload)
            else:
                torn += 1
            if order == "ASC":
                highest = max(highest, number)
    if torn:
        logger.warning("%d readings of the damaged outbox are torn and were left out", torn)
    return count


def _is_whole(topic: object, payload: object) -> bool:
    """Return False for a damaged row, as a page that ends in zeros leaves them."""
    if not (isinstance(topic, str) and isinstance(payload, bytes)):
        return False
    try:
        return all(topic.startswith(f"sensors/{each['device']}/") for each in json.loads(payload))
    except (ValueError, TypeError, KeyError):
        return False


def _salvage_boards(damaged: sqlite3.Connection, store: OutboxStore) -> None:
    """Copy the rows of boards, damaged ones left out: repeats of their frames count as new."""
    tables = {name for (name,) in _readable(damaged, "SELECT name FROM sqlite_master")}
    found = BoardRows()
    if "boards" in tables:
        for used, row in enumerate(_readable(damaged, "SELECT device, boot, accepted FROM boards")):
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                blocks = blocks_of_ranges(row[2]).items()
                found.blocks += [((row[0], row[1], 0), *each, used) for each in blocks]
    if "board_frames" in tables:
        rows = _readable(
            damaged, "SELECT device, boot, repeat, block, digests, used FROM board_frames"
        )
        for device, boot, repeat, block, digests, used in rows:
            if len(digests) == BLOCK_BYTES:
                found.blocks.append(((device, boot, repeat), block, digests, used))
    if "board_starts" in tables:
        counts = _readable(damaged, "SELECT device, boot, starts FROM board_starts ORDER BY rowid")
        found.counts += [((device, boot), starts) for device, boot, starts in counts]
    if "board_floors" in tables:
        floors = _readable(damaged, "SELECT device, boot, starts FROM board_floors")
        found.floors += [(device, (boot, starts)) for device, boot, starts in floors]
    store.save_boards(found)


def _readable(damaged: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows up to the first that cannot be read, which is logged."""
    rows = ReadableRows(damaged, query)
    yield from rows
    if rows.error is not None:
        logger.warning("a part of the damaged outbox cannot be read: %s", rows.error)
