"""Opening the outbox, whatever state its file is in: damage never keeps the bridge from starting.

A damaged file is set aside (kept, with a time stamp) and what can be read of it goes into a new
one. Which exchanges the broker still knows is then uncertain, so their readings wait again and the
broker's session is given up: after damage a reading may come twice, none that is readable is lost.
"""

import contextlib
import logging
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware_bridge.outbox_store import OutboxStore

logger = logging.getLogger(__name__)


class OutboxError(RuntimeError):
    """The outbox cannot be written: one line that says what to mend."""


def open_outbox_store(path: Path) -> OutboxStore:
    """Raises `OutboxError` where not even a new file can be made."""
    try:
        try:
            return OutboxStore(path)
        except sqlite3.OperationalError:
            raise  # Locked, not writable, disk full: the file itself is not to blame.
        except sqlite3.DatabaseError as error:
            return _rebuild(path, str(error))
    except (sqlite3.Error, OSError) as error:
        raise OutboxError(
            f"cannot open the outbox {path}: {error}; check the disk and the directory's rights"
        ) from error


def _rebuild(path: Path, damage: str) -> OutboxStore:
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    store = OutboxStore(path)
    store.begin()
    # Numbers given before must not come again; seconds since 1970 are above any count of starts.
    store.set_property("starts", str(int(time.time())))
    with contextlib.closing(sqlite3.connect(aside)) as damaged:
        count = _salvage_readings(damaged, store)
        _salvage_boards(damaged, store)
    store.commit()
    store.close()
    logger.error(
        "the outbox was damaged (%s): %d readings salvaged, the old file is kept as %s",
        damage,
        count,
        aside,
    )
    return OutboxStore(path)


def _salvage_readings(damaged: sqlite3.Connection, store: OutboxStore) -> int:
    count = highest = 0
    # From both ends: a broken page in the middle hides neither the oldest nor the newest rows.
    for order in ("ASC", "DESC"):
        query = f"SELECT number, topic, payload FROM readings ORDER BY number {order}"  # noqa: S608
        for number, topic, payload in _readable(damaged, query):
            if order == "DESC" and number <= highest:
                break
            if isinstance(topic, str) and isinstance(payload, bytes):
                store.restore(number, topic, payload)
                count += 1
            if order == "ASC":
                highest = number
    return count


def _salvage_boards(damaged: sqlite3.Connection, store: OutboxStore) -> None:
    for row in _readable(damaged, "SELECT device, boot, accepted, heard FROM boards"):
        store.save_boards([row])


def _readable(damaged: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows up to the first that cannot be read."""
    try:
        yield from damaged.execute(query)
    except sqlite3.DatabaseError as error:
        logger.warning("a part of the damaged outbox cannot be read: %s", error)
