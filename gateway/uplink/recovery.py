"""Opening the uplink's file, whatever state it is in: damage never keeps the uplink from starting.

A damaged file is set aside (kept, with a time stamp), and what can be read of it goes into a new
one, packet identifiers and sessions among it. A message that cannot be read any more is lost; one
whose removal is lost with a page may come twice.
"""

import contextlib
import logging
import sqlite3
from pathlib import Path

from gateway.files.database_file import replace_database
from gateway.files.queue_database import NewerFormat, open_or_replace
from gateway.files.salvage import lengthen_cut_off
from gateway.uplink.store import UplinkStore

logger = logging.getLogger(__name__)


class UplinkError(RuntimeError):
    """The uplink's file cannot be read or written: one line with the mend."""


def cannot_write(path: Path, error: sqlite3.Error) -> UplinkError:
    """Return the error for a file whose disk refuses a write."""
    return UplinkError(
        f"cannot write the uplink's queue {path}: {error}; "
        "free space on the disk or replace it, then start the uplink again"
    )


def open_uplink_store(path: Path) -> UplinkStore:
    """Open the file; a damaged or missing one is replaced by a new one, with what can be read.

    Raises:
        NoRoom: the disk is full.
        UplinkError: not even a new file can be made.
    """
    try:
        return open_or_replace(path, UplinkStore, _replace)
    except NewerFormat as newer:
        raise UplinkError(
            f"the uplink's queue {path} was written by a newer version ({newer}); "
            "install that version again"
        ) from None
    except (sqlite3.Error, OSError) as error:
        raise UplinkError(
            f"cannot open the uplink's queue {path}: {error}; "
            "check the disk and the directory's rights"
        ) from error


def _replace(path: Path, damage: sqlite3.Error | None) -> None:
    if damage is None:
        replace_database(path, lambda new: UplinkStore(new).close())
        return
    counts: list[int] = []

    def fill(new: Path) -> None:
        store = UplinkStore(new)
        store.begin()
        lengthen_cut_off(path)
        with contextlib.closing(sqlite3.connect(path)) as damaged:
            counts.append(store.salvage_from(damaged))
        store.commit()
        store.close()

    aside = replace_database(path, fill)
    logger.error(
        "the uplink's queue was damaged (%s): %d messages salvaged, the old file is kept as %s",
        damage,
        counts[0],
        aside,
    )
