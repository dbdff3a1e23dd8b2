"""Whether the outbox takes readings: its own limit in bytes, and the room on the disk."""

import asyncio
import logging

logger = logging.getLogger(__name__)

# A full outbox takes readings again below this share, so that it does not flap.
_ROOM_SHARE = 0.9


class Capacity:
    """`stored_bytes` are those of readings on disk; `disk_full` is what the last look found."""

    def __init__(self, bytes_max: int, stored_bytes: int) -> None:
        self.stored_bytes = stored_bytes
        self.disk_full = False
        self._bytes_max = bytes_max
        self._room = asyncio.Event()
        self._room.set()

    @property
    def full(self) -> bool:
        """Whether ports have to wait, or to drop what they read."""
        return not self._room.is_set()

    async def wait_for_room(self) -> None:
        """Wait until readings are taken again."""
        await self._room.wait()

    def update(self, held_bytes: int) -> None:
        """Compare with the limit; `held_bytes` are the readings on disk and on their way there."""
        if held_bytes >= self._bytes_max and self._room.is_set():
            self._room.clear()
            logger.error(
                "the outbox is full (%d bytes): boards wait, other ports lose readings; "
                "see why the broker does not take them, or raise [bridge] outbox_max",
                held_bytes,
            )
        elif self._is_below(held_bytes) and not self._room.is_set():
            self._room.set()
            logger.info("the outbox takes readings again (%d bytes)", held_bytes)

    def note_disk(self, *, has_room: bool) -> bool:
        """Note what a look at the disk found; whether that has changed.

        While the disk is full, what ports bring waits; what is stored goes out all the same.
        """
        if has_room != self.disk_full:
            return False
        self.disk_full = not has_room
        if self.disk_full:
            self._room.clear()
            logger.error(
                "the disk is full: boards wait, other ports lose readings; what is stored is "
                "published on. Free space, or use a larger disk"
            )
        else:
            logger.info("the disk has room again")
        return True

    def _is_below(self, held_bytes: int) -> bool:
        return held_bytes < self._bytes_max * _ROOM_SHARE and not self.disk_full
