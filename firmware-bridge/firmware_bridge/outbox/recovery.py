"""Opening the outbox, whatever state its file is in: damage never keeps the bridge from starting.

A damaged file is set aside (kept, with a time stamp) and what can be read of it goes into a new
one. Which exchanges the broker still has is then uncertain, so their readings wait again and the
broker's session is given up: after damage a reading may come twice, none that is readable is lost.
A power cut on the way costs nothing (`gateway.files.database_file`).
"""

import contextlib
import json
import logging
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware_bridge.outbox.board_start import BLOCK_BYTES
from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.formats import blocks_of_ranges
from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.readings.publications import Publication
from gateway.files.database_file import replace_database
from gateway.files.queue_database import NewerFormat, open_or_replace
from gateway.files.salvage import ReadableRows, lengthen_cut_off

logger = logging.getLogger(__name__)

# Starts of one outbox before a number reaches 2**32, where those of boards that begin again are.
_STARTS_MAX = 2**24


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
        NoRoom: the disk is full.
        OutboxError: not even a new file can be made.
    """
    try:
        return open_or_replace(path, OutboxStore, _replace)
    except NewerFormat as newer:
        raise OutboxError(
            f"the outbox {path} was written by a newer version of the bridge ({newer}); "
            "install that version again"
        ) from None
    except (sqlite3.Error, OSError) as error:
        raise OutboxError(
            f"cannot open the outbox {path}: {error}; check the disk and the directory's rights"
        ) from error


def _replace(path: Path, damage: sqlite3.Error | None) -> None:
    """Put a new outbox in its place, filled with what can be read of a damaged one."""
    counts: list[int] = []
    aside = replace_database(
        path, lambda new: counts.append(_fill(new, path if damage is not None else None))
    )
    if damage is not None:
        logger.error(
            "the outbox was damaged (%s): %d readings salvaged, the old file is kept as %s",
            damage,
            counts[0],
            aside,
        )


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
    # The tables of earlier versions, and those whose description is damaged, do not have it.
    columns = {row[1] for row in _readable(damaged, "PRAGMA table_info(readings)")}
    retain = "retain" if "retain" in columns else "0"
    # From both ends: a broken page in the middle hides neither the oldest nor the newest rows.
    for order in ("ASC", "DESC"):
        query = (
            f"SELECT number, topic, payload, {retain} FROM readings "  # noqa: S608 - see above
            f"ORDER BY number {order}"
        )
        for number, topic, payload, retained in _readable(damaged, query):
            if order == "DESC" and number <= highest:
                break
            if _is_whole(topic, payload):
                count += store.restore(number, Publication(topic, payload, retain=retained == 1))
            else:
                torn += 1
            if order == "ASC":
                highest = max(highest, number)
    if torn:
        logger.warning("%d readings of the damaged outbox are torn and were left out", torn)
    return count


def _is_whole(topic: object, payload: object) -> bool:
    """Return False for a damaged row, as a page that ends in zeros leaves them.

    What can be checked depends on the form: SenML names the device of its topic once more.
    """
    if not (isinstance(topic, str) and isinstance(payload, bytes)) or b"\0" in payload:
        return False
    try:
        content = json.loads(payload) if payload[:1] in (b"[", b"{") else payload.decode()
        return "\0" not in topic and (
            not isinstance(content, list) or all(each["device"] in topic for each in content)
        )
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
