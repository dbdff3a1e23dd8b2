"""Opening of the uplink's file in any state.

Packet identifiers and sessions are copied from a damaged file. A message that is unreadable is
lost; one whose deletion was lost with a page may be sent twice.
"""

import sqlite3
from pathlib import Path
from typing import Final

from gateway.process.files.queue_opening import QueueNames, open_queue
from gateway.uplink.store import UplinkStore

NAMES: Final = QueueNames("the uplink's queue", "uplink", "messages")


def open_uplink_store(path: Path) -> UplinkStore:
    """Open the file. A damaged or missing one is replaced by a new one with the readable contents.

    Raises:
        NoRoom: the disk is full.
        QueueError: no new file can be created.
    """
    return open_queue(path, NAMES, UplinkStore, _fill)


def _fill(store: UplinkStore, damaged: sqlite3.Connection | None) -> int:
    return 0 if damaged is None else store.salvage_from(damaged)
