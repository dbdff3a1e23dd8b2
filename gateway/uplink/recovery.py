"""Opening the uplink's file, whatever state it is in.

Of a damaged one packet identifiers and sessions are taken along. A message that cannot be read any
more is lost; one whose removal is lost with a page may come twice.
"""

import sqlite3
from pathlib import Path
from typing import Final

from gateway.files.queue_opening import QueueNames, open_queue
from gateway.uplink.store import UplinkStore

NAMES: Final = QueueNames("the uplink's queue", "uplink", "messages")


def open_uplink_store(path: Path) -> UplinkStore:
    """Open the file; a damaged or missing one is replaced by a new one, with what can be read.

    Raises:
        NoRoom: the disk is full.
        QueueError: not even a new file can be made.
    """
    return open_queue(path, NAMES, UplinkStore, _fill)


def _fill(store: UplinkStore, damaged: sqlite3.Connection | None) -> int:
    return 0 if damaged is None else store.salvage_from(damaged)
