"""Fair reading: how much of a client's input is processed before the others are served.

A client may use slices of work until its turn is over. A client with remaining input is behind: it
is not read, and all clients that are behind take turns, in the order in which they fell behind
(docs/decisions/0052, 0154). A client whose packets need the disk is not read while too much data
waits for its commit.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Final

from gateway.broker.core.broker import Broker
from gateway.broker.core.sessions.meter import Meter
from gateway.broker.core.work import SLICE_UNITS
from gateway.broker.server.event_loop.channel import Channel

PIECE_BYTES: Final = 16 * 1024
"""Received bytes decoded without interruption: 8,000 of the shortest packets, two milliseconds."""

# Not Final: tests make it so long that work alone counts.
TURN_SECONDS: float = 0.0005
"""Length of a client's turn: no slice starts after it. The cheapest unit of work takes a twentieth
of the most expensive, so the clock limits expensive work, and `TURN_UNITS` cheap work."""

TURN_UNITS: Final = 8 * SLICE_UNITS
"""Units of a client's turn; also of all reads since the last tick, before clients that send much
have to wait; and of turns committed together, so that short ones do not cost an fsync each."""

HEAVY_UNITS: Final = SLICE_UNITS
"""A client whose last read had this much work waits for a turn if reads since the last tick used
one. Otherwise ten such clients together would make all others wait for ten turns."""

# Not Final: tests make it small enough to be reached.
UNREAD_BYTES_MAX: int = 32 * 1024 * 1024
"""Received data waiting for turns, at most: 128 reads of the largest size. Further data is decoded
immediately; then it is in the core as packets, with the core's own limits."""


class FairReader:
    """The clients that are not read at present, because they sent too much."""

    def __init__(
        self,
        broker: Broker,
        uncommitted_bytes_max: int,
        *,
        may_go_on: Callable[[], bool],
        lose: Callable[[Channel], None],
        schedule: Callable[[], None],
    ) -> None:
        """Set the limit and the callbacks.

        Args:
            broker: the core.
            uncommitted_bytes_max: maximum size of records that wait for their commit.
            may_go_on: returns False after an error that ends the process.
            lose: called for a connection that was lost before its last packet was processed.
            schedule: called when there may be something to send or to commit.
        """
        self.uncommitted_bytes_max = uncommitted_bytes_max
        self.unread_bytes = 0
        """Connections of all clients that are behind."""
        self.tick_units = 0
        """Work of all reads since the last tick."""
        self._broker = broker
        self._work = broker.work
        self._may_go_on = may_go_on
        self._lose = lose
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._overloaded: set[Channel] = set()
        self._behind: dict[Channel, None] = {}
        """Clients that sent more than one turn of work, in the order of their turns."""
        self._scheduled = False

    def forget(self, channel: Channel) -> None:
        """Forget a connection that is gone."""
        self._overloaded.discard(channel)
        self._behind.pop(channel, None)
        self.unread_bytes -= channel.unread_counted
        channel.unread_counted = 0

    # -- more than the disk takes

    def look_at_records(self, channel: Channel, recorded_bytes: int) -> None:
        """Stop reading from a client whose records exceed the limit.

        `recorded_bytes` is the size of uncommitted records before this read.
        """
        pending_bytes = self._broker.batch.pending_bytes()
        if recorded_bytes < pending_bytes > self.uncommitted_bytes_max:
            # Packets that need no disk, QoS 0 and PINGREQ, are received too.
            channel.overloaded = True
            self._overloaded.add(channel)
            channel.update_reading()

    def resume_overloaded(self) -> None:
        """Resume reading when enough is committed to leave room for some reads."""
        if not self._overloaded or (
            self._broker.batch.pending_bytes() > self.uncommitted_bytes_max // 2
        ):
            return
        waiting = self._overloaded
        self._overloaded = set()
        for channel in waiting:
            channel.overloaded = False
            channel.update_reading()
            if channel.is_behind():
                self.fall_behind(channel)

    # -- more than its rate

    def look_at_rates(self, channel: Channel, recorded_bytes: int | None) -> None:
        """Stop reading from a client that exceeded its rates, until it is within them again.

        `recorded_bytes` is the size of uncommitted records before this read; None: nothing was
        read.
        """
        meters, now = channel.connection.meters, self._loop.time()
        if recorded_bytes is not None:
            brought_bytes = max(0, self._broker.batch.pending_bytes() - recorded_bytes)
            for each in meters:
                each.record(brought_bytes, now)
        meter = max(meters, key=_free_at, default=None)
        if meter is None or channel.throttled or meter.free_at <= now:
            return
        channel.throttled = True
        statistics = self._broker.statistics
        statistics.count_error(meter.limit)
        if meter.wants_line(now):
            name = channel.connection.address
            if channel.connection.session is not None:
                name = f"client {channel.connection.session.client_id!r} from {name}"
            statistics.note(f"{name} is read from less often: {meter.limit} reached")
        channel.update_reading()
        self._loop.call_at(meter.free_at, self._look_again, channel)

    def _look_again(self, channel: Channel) -> None:
        channel.throttled = False
        if channel.connection.is_open:
            # Data read before the pause may exceed the rate further.
            self.look_at_rates(channel, None)
            channel.update_reading()

    # -- more than a turn of work

    def end_turn(self, channel: Channel, began: float) -> None:
        """Process more slices of a client's input until its turn is over, and count the work.

        `began` is the start of the turn, by `perf_counter`.
        """
        if channel.connection.behind or channel.unread:
            self._go_on(channel, began + TURN_SECONDS)
        spent = self._work.spent
        self.tick_units += spent
        channel.is_heavy = spent > HEAVY_UNITS

    def _go_on(self, channel: Channel, due: float) -> None:
        work, connection = self._work, channel.connection
        spent = work.spent
        while channel.is_behind() and spent < TURN_UNITS and perf_counter() < due:
            work.spent = 0
            if connection.behind:
                self._broker.go_on(connection, self._loop.time())
            if channel.unread and not connection.behind:
                self._read_on(channel)
            spent += work.spent
        work.spent = spent

    def puts_off(self, channel: Channel, data: bytes) -> bool:
        """Keep received data for a later turn of its client, if reads exceeded a turn since the
        last tick.

        Return False, without keeping it, if they did not, or if too much data is kept already.
        """
        size_bytes = len(data)
        if self.tick_units <= TURN_UNITS or self.unread_bytes + size_bytes > UNREAD_BYTES_MAX:
            return False
        channel.unread = data
        channel.unread_counted = size_bytes
        self.unread_bytes += size_bytes
        self.fall_behind(channel)
        return True

    def begin(self, channel: Channel, data: bytes) -> None:
        """Feed at most one slice of the received bytes to the core."""
        channel.unread = data
        self._read_on(channel)

    def _read_on(self, channel: Channel) -> None:
        """Feed received bytes to the core in pieces, until the slice is used up."""
        connection, data, position = channel.connection, channel.unread, channel.unread_from
        self.unread_bytes -= channel.unread_counted
        # If too much data waits for its turn, memory is more important than time.
        is_too_much = self.unread_bytes + len(data) > UNREAD_BYTES_MAX
        while position < len(data) and (
            is_too_much or not (connection.behind or self._work.spent > SLICE_UNITS)
        ):
            piece = data[position : position + PIECE_BYTES]
            position += len(piece)
            self._broker.receive(connection, piece, self._loop.time())
        if position >= len(data) or not connection.is_open:
            data, position = b"", 0
        channel.unread, channel.unread_from = data, position
        channel.unread_counted = len(data)
        self.unread_bytes += channel.unread_counted

    def fall_behind(self, channel: Channel) -> None:
        """Defer a client's remaining input to its next turn, after those of others."""
        if channel not in self._behind:
            channel.update_reading()
            if channel.overloaded:
                return  # it continues when there is room for its data
            self._behind[channel] = None
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._catch_up)

    def _catch_up(self) -> None:
        """Give the client that has waited longest its next turn."""
        self._scheduled = False
        if not self._behind or not self._may_go_on():
            return
        channel = next(iter(self._behind))
        del self._behind[channel]
        self._work.spent = 0
        recorded_bytes = self._broker.batch.pending_bytes()
        self.end_turn(channel, perf_counter())
        self.look_at_records(channel, recorded_bytes)
        if channel.connection.meters:
            self.look_at_rates(channel, recorded_bytes)
        if channel.is_behind():
            self.fall_behind(channel)
        elif channel.lost:
            self._lose(channel)
        else:
            channel.update_reading()
        if self._behind:
            self.fall_behind(next(iter(self._behind)))
            if self.tick_units < TURN_UNITS:
                return  # the next turn's data is committed together with this one's
        self._schedule()


def _free_at(meter: Meter) -> float:
    return meter.free_at
