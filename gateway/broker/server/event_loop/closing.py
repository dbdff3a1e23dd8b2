"""Tracks the connections that are being closed, and limits their number.

A peer that does not read, or does not close its side, keeps the connection and its file descriptor
open for a while.
"""

import asyncio
import contextlib
from collections.abc import Sized
from typing import Final

from gateway.broker.server.event_loop.channel import Channel
from gateway.process.files import descriptors

CLOSING_MAX: Final = 128
"""Maximum number of connections that are being closed. Beyond it, the oldest one is aborted.
Closing takes longer than a round trip only if the peer does not read, or does not close its
side."""

STOP_SECONDS: Final = 1.0
"""Time for all clients to read why the broker stops and to close their connections, in seconds. It
is enough for a round trip over a bad radio link. A client that hangs must not delay a restart any
longer."""

FILES: Final = 64
"""Minimum number of file descriptors that connections leave free for the journal, tables, listeners
and control sockets. Connections beyond `max_connections` and connections that are being closed may
use the other reserved descriptors."""


class ClosingChannels:
    """The connections that are being closed, the oldest first."""

    def __init__(self, channels: Sized) -> None:
        """Create an empty list. `channels` are all connections, including those being closed."""
        self._all = channels
        self._channels: dict[Channel, None] = {}
        self._none_left = asyncio.Event()
        most = descriptors.limit()
        self._all_max = most - min(FILES, most // 4)

    def add(self, channel: Channel) -> None:
        """Add a connection that is being closed. If there are too many, abort the oldest one."""
        self._channels[channel] = None
        if len(self._channels) > CLOSING_MAX:
            self.cut_oldest()

    def forget(self, channel: Channel) -> None:
        """Remove a connection from the list, after the connection has been closed completely."""
        self._channels.pop(channel, None)

    def note_gone(self) -> None:
        """Wake the caller of `all_gone` if no connections remain."""
        if not self._all:
            self._none_left.set()

    async def all_gone(self) -> None:
        """Wait until all connections are closed, for at most `STOP_SECONDS`."""
        self._none_left.clear()
        if self._all:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self._none_left.wait()

    def is_room_short(self) -> bool:
        """Return True if another connection would need a descriptor that is reserved for files."""
        return len(self._all) >= self._all_max

    def cut_oldest(self) -> bool:
        """Abort the connection that started closing first.

        Return False if no connection is being closed.
        """
        if not self._channels:
            return False
        channel = next(iter(self._channels))
        del self._channels[channel]
        channel.abort()
        return True
