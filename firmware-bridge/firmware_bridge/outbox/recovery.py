"""Opens the outbox's database, and recovers the readings from a damaged database.

The undamaged rows are copied to a new database. It is then unknown which exchanges the broker still
stores, so all recovered readings are published in a new session. A reading might be published
twice, but no recovered reading is lost.
"""

import json
import logging
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from firmware_bridge.outbox.board_start import BLOCK_BYTES
from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.readings.publications import Publication
from gateway.process.files.queue_opening import QueueNames, open_queue
from gateway.process.files.salvage import ReadableRows

logger = logging.getLogger(__name__)

# Maximum starts of the bridge with one outbox. Boot numbers from 2**32 are those of boards.
_STARTS_MAX = 2**24


NAMES: Final = QueueNames("the outbox", "bridge", "readings")


def open_outbox_store(path: Path) -> OutboxStore:
    """Open the outbox's database. If it is missing or damaged, create a new one.

    The new database contains the readings that could be read from the damaged one.

    Raises:
        NoRoom: if the disk is full.
        QueueError: if a new database cannot be created either.
    """
    return open_queue(path, NAMES, OutboxStore, _fill)


def _fill(store: OutboxStore, damaged: sqlite3.Connection | None) -> int:
    """Write the first rows of a new outbox. Return the number of readings that were recovered.

    `damaged` is the connection to a damaged outbox whose readable rows are copied, or None.
    """
    count = 0
    if damaged is not None:
        count = _salvage_readings(damaged, store)
        _salvage_boards(damaged, store)
    # Start numbers of a lost outbox must not be used again. A random number is one of them with a
    # probability of 1 in 2**31 per start.
    first = secrets.randbelow(2**31 - _STARTS_MAX) + 2**31
    store.set_property("starts", str(first))
    return count


def _salvage_readings(damaged: sqlite3.Connection, store: OutboxStore) -> int:
    count = torn = highest = 0
    # Read from both ends, so that a damaged page in the middle hides neither the oldest nor the
    # newest rows.
    for order in ("ASC", "DESC"):
        query = "SELECT number, topic, payload, retain FROM readings ORDER BY number "
        for number, topic, payload, retained in _readable(damaged, query + order, int):
            if order == "DESC" and number <= highest:
                break
            if _is_whole(topic, payload):
                count += store.readings.restore(
                    number, Publication(topic, payload, retain=retained == 1)
                )
            else:
                torn += 1
            if order == "ASC":
                highest = max(highest, number)
    if torn:
        logger.warning("%d incomplete readings of the damaged outbox were left out", torn)
    return count


def _is_whole(topic: object, payload: object) -> bool:
    """Return True if a reading's row is undamaged.

    For example, a row is damaged if it contains a 0x00 byte, or if a SenML payload names a device
    that does not occur in the topic.
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
    """Copy the undamaged rows about boards.

    If the row of a frame is damaged, the frame counts as new when the board repeats it.
    """
    tables = {name for (name,) in _readable(damaged, "SELECT name FROM sqlite_master")}
    found = BoardRows()
    if "board_frames" in tables:
        rows = _readable(
            damaged,
            "SELECT device, boot, repeat, block, digests, used FROM board_frames",
            *(int, int, int, int, bytes, int),
        )
        for device, boot, repeat, block, digests, used in rows:
            if len(digests) == BLOCK_BYTES:
                found.blocks.append(((device, boot, repeat), block, digests, used))
    if "board_starts" in tables:
        counts = _readable(
            damaged,
            "SELECT device, boot, starts FROM board_starts ORDER BY rowid",
            *(int, int, int),
        )
        found.counts += [((device, boot), starts) for device, boot, starts in counts]
    if "board_floors" in tables:
        floors = _readable(
            damaged, "SELECT device, boot, starts FROM board_floors", *(int, int, int)
        )
        found.floors += [(device, (boot, starts)) for device, boot, starts in floors]
    store.save_boards(found)


def _readable(damaged: sqlite3.Connection, query: str, *types: type) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query. Stop at the first unreadable row, and log the error.

    `types` are the types of the first columns. Rows with other types are damaged, and left out.
    """
    rows = ReadableRows(damaged, query)
    for row in rows:
        if all(isinstance(value, kind) for value, kind in zip(row, types, strict=False)):
            yield row
    if rows.error is not None:
        logger.warning("a part of the damaged outbox cannot be read: %s", rows.error)
