"""Opens the uplink's database, and repairs it if it is damaged.

All readable data is copied from a damaged file to a new file. Unreadable messages are lost. If a
damaged page recorded the deletion of a message, the message might be sent again.
"""

import sqlite3
from pathlib import Path
from typing import Final

from gateway.process.files.queue_opening import QueueNames, open_queue
from gateway.uplink.store import UplinkStore

NAMES: Final = QueueNames("the uplink's queue", "uplink", "messages")


def open_uplink_store(path: Path) -> UplinkStore:
    """Open the uplink's database at `path`.

    If the file is damaged or missing, a new file is created. The readable contents of a damaged
    file are copied into the new file.

    Raises:
        NoRoom: if the disk is full.
        QueueError: if no new file can be created.
    """
    return open_queue(path, NAMES, UplinkStore, _fill)


def _fill(store: UplinkStore, damaged: sqlite3.Connection | None) -> int:
    return 0 if damaged is None else store.salvage_from(damaged)
