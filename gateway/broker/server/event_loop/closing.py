"""Connections that are being closed, and the limit on their number.

A peer that does not read, or does not close its side, keeps a closed connection and its descriptor
open for a while.
"""

import asyncio
import contextlib
from collections.abc import Sized
from typing import Final

from gateway.broker.server.event_loop.channel import Channel
from gateway.process.files import descriptors

CLOSING_MAX: Final = 128
"""Connections being closed, at most; beyond it the oldest one is cut. Only peers that do not read,
or do not close their side, take longer than a round trip."""

STOP_SECONDS: Final = 1.0
"""Time for all clients to read why the broker stops, and to close: a round trip over a bad radio
link. A client that hangs must not delay a restart for longer."""

FILES: Final = 64
"""Descriptors reserved for journal, tables, listeners and control sockets, at least: connections
beyond `max_connections` and those being closed use the rest of the reserve."""


class ClosingChannels:
    """The channels that are being closed, oldest first."""

    def __init__(self, channels: Sized) -> None:
        """Set the collection of all open channels, which includes those being closed."""
        self._all = channels
        self._channels: dict[Channel, None] = {}
        self._none_left = asyncio.Event()
        most = descriptors.limit()
        self._all_max = most - min(FILES, most // 4)

    def add(self, channel: Channel) -> None:
        """Add a channel that is being closed. Cut the oldest one if there are too many."""
        self._channels[channel] = None
        if len(self._channels) > CLOSING_MAX:
            self.cut_oldest()

    def forget(self, channel: Channel) -> None:
        """Remove a channel whose connection is gone."""
        self._channels.pop(channel, None)

    def note_gone(self) -> None:
        """Note that a channel is gone."""
        if not self._all:
            self._none_left.set()

    async def all_gone(self) -> None:
        """Wait until no channel is left, for at most `STOP_SECONDS`."""
        self._none_left.clear()
        if self._all:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self._none_left.wait()

    def is_room_short(self) -> bool:
        """Return True if another connection would take a descriptor that is reserved for files."""
        return len(self._all) >= self._all_max

    def cut_oldest(self) -> bool:
        """Cut the channel that has been closing for the longest time.

        Return False if there is none.
        """
        if not self._channels:
            return False
        channel = next(iter(self._channels))
        del self._channels[channel]
        channel.abort()
        return True
