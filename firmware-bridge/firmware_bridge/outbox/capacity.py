"""Decides when the outbox is full.

It is full if its readings take up too much space, if one of them is too old, or if the disk is
full.
"""

import asyncio
import logging
from typing import Literal

logger = logging.getLogger(__name__)

# A full outbox accepts readings again below this share of its limit. This prevents flapping.
_ROOM_SHARE = 0.9


FullBy = Literal["bytes", "age", "disk"]
"""The reason why the outbox is full: the limit `outbox_max` or `outbox_max_age`, or the disk."""


class Capacity:
    """The state of the outbox: full, or accepting readings.

    `disk_full` is True if the disk had no room at the last check.
    """

    def __init__(self, bytes_max: int) -> None:
        self.disk_full = False
        self._bytes_max = bytes_max
        self._full_by: FullBy | None = None
        self._room = asyncio.Event()
        self._room.set()

    @property
    def full(self) -> bool:
        """True if the outbox is full. Ports must then wait or drop readings."""
        return not self._room.is_set()

    @property
    def full_by(self) -> FullBy | None:
        """The reason why the outbox is full, or None if it accepts readings."""
        if not self.full:
            return None
        return "disk" if self.disk_full else self._full_by or "bytes"

    async def wait_for_room(self) -> None:
        """Wait until the outbox accepts readings."""
        await self._room.wait()

    def update(self, held_bytes: int, *, oldest_is_old: bool = False) -> None:
        """Check whether the outbox is full, and log when this changes.

        Args:
            held_bytes: total size of all readings in the outbox, except readings that may be
                dropped.
            oldest_is_old: True if an unpublished reading is older than `outbox_max_age`.
        """
        if held_bytes >= self._bytes_max:
            self._note_full("bytes", f"{held_bytes} bytes", "outbox_max")
        elif oldest_is_old:
            self._note_full("age", "its oldest reading is too old", "outbox_max_age")
        elif self._is_below(held_bytes) and not self._room.is_set():
            self._room.set()
            self._full_by = None
            logger.info("the outbox accepts readings again (%d bytes)", held_bytes)

    def _note_full(self, full_by: FullBy, why: str, key: str) -> None:
        self._full_by = full_by
        if self._room.is_set():
            self._room.clear()
            logger.error(
                "the outbox is full (%s): each port acts as its when_full defines; find out "
                "why the broker does not accept readings, or raise [bridge] %s",
                why,
                key,
            )

    def note_disk(self, *, has_room: bool) -> bool:
        """Record the state of the disk, and return True if it has changed.

        The argument `has_room` is False if the disk is full. While the disk is full, new readings
        are not stored, but stored readings are still published.
        """
        if has_room != self.disk_full:
            return False
        self.disk_full = not has_room
        if self.disk_full:
            self._room.clear()
            logger.error(
                "the disk is full: each port acts as its when_full defines; stored readings "
                "are still published. Free space, or use a larger disk"
            )
        else:
            logger.info("the disk has room again")
        return True

    def _is_below(self, held_bytes: int) -> bool:
        return held_bytes < self._bytes_max * _ROOM_SHARE and not self.disk_full
