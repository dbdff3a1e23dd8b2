"""Opens the uplink's database, and recovers it if it is damaged.

Packet identifiers and sessions are copied from a damaged file. Unreadable messages are lost. A
message may be sent twice if a damaged page contained its deletion.
"""

import sqlite3
from pathlib import Path
from typing import Final

from gateway.process.files.queue_opening import QueueNames, open_queue
from gateway.uplink.store import UplinkStore

NAMES: Final = QueueNames("the uplink's queue", "uplink", "messages")


def open_uplink_store(path: Path) -> UplinkStore:
    """Open the database.

    A damaged or missing file is replaced with a new one, into which the readable contents are
    copied.

    Raises:
        NoRoom: the disk is full.
        QueueError: no new file can be created.
    """
    return open_queue(path, NAMES, UplinkStore, _fill)


def _fill(store: UplinkStore, damaged: sqlite3.Connection | None) -> int:
    return 0 if damaged is None else store.salvage_from(damaged)
