"""Limits how much input of one client is processed before other clients have their turn.

Input is processed in slices of about a millisecond of work. A client's turn consists of several
slices. While received input remains unprocessed, the broker does not read more from the client.
Clients with remaining input get further turns in the order in which their last turns ended
(docs/decisions/0052, 0154). If a client's packets must be stored on disk, the broker does not read
from the client while too much data is uncommitted.
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
"""Maximum number of received bytes decoded without interruption: 8,000 of the shortest packets,
which take two milliseconds."""

# Not Final: tests set a value that is so long that only the work counts.
TURN_SECONDS: float = 0.0005
"""Length of a client's turn in seconds. No slice starts after this time. The time limits expensive
work, and `TURN_UNITS` limits cheap work: the cheapest unit of work takes a twentieth of the time of
the most expensive one."""

TURN_UNITS: Final = 8 * SLICE_UNITS
"""Maximum work units in a client's turn. Two other limits have the same value. One is the work of
all reads since the last tick, beyond which clients that send much have to wait. The other is the
work of turns that are committed together, so that short turns do not cost one fsync each."""

HEAVY_UNITS: Final = SLICE_UNITS
"""Work units above which a client's last read counts as heavy. Its next data has to wait if the
reads since the last tick have used up a turn. Otherwise ten such clients would make all others wait
for ten turns."""

# Not Final: tests set a small value.
UNREAD_BYTES_MAX: int = 32 * 1024 * 1024
"""Maximum number of received bytes that wait for their client's turn: 128 reads of the largest
size. Further data is decoded immediately and then counts against the limits of the broker core."""


class FairReader:
    """Scheduler of the clients' input. Pauses reading from clients that send too much."""

    def __init__(
        self,
        broker: Broker,
        uncommitted_bytes_max: int,
        *,
        may_continue: Callable[[], bool],
        lose: Callable[[Channel], None],
        schedule: Callable[[], None],
    ) -> None:
        """Set the limit and the callbacks.

        Args:
            broker: the broker core.
            uncommitted_bytes_max: maximum size of records that wait for their commit.
            may_continue: returns False after an error that ends the process.
            lose: called for a lost connection when all data received from it has been processed.
            schedule: called when there may be something to send or to commit.
        """
        self.uncommitted_bytes_max = uncommitted_bytes_max
        self.unread_bytes = 0
        """Number of received bytes that wait for their client's turn, over all connections."""
        self.tick_units = 0
        """Work units of all reads since the last tick."""
        self._broker = broker
        self._work = broker.work
        self._may_continue = may_continue
        self._lose = lose
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._overloaded: set[Channel] = set()
        self._unfinished: dict[Channel, None] = {}
        """Clients whose input is not fully processed, in the order of their next turns."""
        self._scheduled = False

    def forget(self, channel: Channel) -> None:
        """Forget a closed connection, and stop counting its unprocessed data."""
        self._overloaded.discard(channel)
        self._unfinished.pop(channel, None)
        self.unread_bytes -= channel.unread_counted
        channel.unread_counted = 0

    # -- more than the disk takes

    def limit_records(self, channel: Channel, recorded_bytes: int) -> None:
        """Pause reading from a client whose data caused records, if too much data is uncommitted.

        `recorded_bytes` is the size of the uncommitted records before the client's data was
        processed.
        """
        pending_bytes = self._broker.batch.pending_bytes()
        if recorded_bytes < pending_bytes > self.uncommitted_bytes_max:
            # A client whose packets need no records, such as QoS 0 and PINGREQ, is not paused.
            channel.overloaded = True
            self._overloaded.add(channel)
            channel.update_reading()

    def resume_overloaded(self) -> None:
        """Resume reading from clients that were paused because of too much uncommitted data."""
        if not self._overloaded or (
            self._broker.batch.pending_bytes() > self.uncommitted_bytes_max // 2
        ):
            return
        waiting = self._overloaded
        self._overloaded = set()
        for channel in waiting:
            channel.overloaded = False
            channel.update_reading()
            if channel.has_more_input():
                self.queue_unfinished(channel)

    # -- more than its rate

    def limit_rates(self, channel: Channel, recorded_bytes: int | None) -> None:
        """Pause reading from a client that exceeded its message rate or byte rate.

        `recorded_bytes` is the size of the uncommitted records before the client's latest data was
        processed, or None if there is no new data.
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
        self._loop.call_at(meter.free_at, self._check_again, channel)

    def _check_again(self, channel: Channel) -> None:
        channel.throttled = False
        if channel.connection.is_open:
            # Data that was read before the pause may exceed the rate again.
            self.limit_rates(channel, None)
            channel.update_reading()

    # -- more than a turn of work

    def end_turn(self, channel: Channel, began: float) -> None:
        """Process more of a client's input until the end of the client's turn.

        The time and the work of a turn are limited. `began` is the time at which the turn started,
        as returned by `perf_counter`.
        """
        if channel.connection.has_more_work or channel.unread:
            self._continue_one(channel, began + TURN_SECONDS)
        spent = self._work.spent
        self.tick_units += spent
        channel.is_heavy = spent > HEAVY_UNITS

    def _continue_one(self, channel: Channel, due: float) -> None:
        work, connection = self._work, channel.connection
        spent = work.spent
        while channel.has_more_input() and spent < TURN_UNITS and perf_counter() < due:
            work.spent = 0
            if connection.has_more_work:
                self._broker.continue_connection(connection, self._loop.time())
            if channel.unread and not connection.has_more_work:
                self._read_on(channel)
            spent += work.spent
        work.spent = spent

    def postpones(self, channel: Channel, data: bytes) -> bool:
        """Keep received data for later if the limit on work since the last tick is exceeded.

        Return True if the data was kept. Return False if the caller must process the data now,
        because more work is allowed or too much data has already been kept.
        """
        size_bytes = len(data)
        if self.tick_units <= TURN_UNITS or self.unread_bytes + size_bytes > UNREAD_BYTES_MAX:
            return False
        channel.unread = data
        channel.unread_counted = size_bytes
        self.unread_bytes += size_bytes
        self.queue_unfinished(channel)
        return True

    def begin(self, channel: Channel, data: bytes) -> None:
        """Pass received bytes to the broker core, up to one slice of work, and keep the rest.

        A slice is about a millisecond of work.
        """
        channel.unread = data
        self._read_on(channel)

    def _read_on(self, channel: Channel) -> None:
        """Pass a client's buffered bytes to the broker core, up to about a millisecond of work.

        The remaining bytes stay buffered. If the buffers of all clients together exceed
        `UNREAD_BYTES_MAX`, all bytes of this client are passed.
        """
        connection, data, position = channel.connection, channel.unread, channel.unread_from
        self.unread_bytes -= channel.unread_counted
        # If too much data waits for its turn, memory is more important than time.
        is_too_much = self.unread_bytes + len(data) > UNREAD_BYTES_MAX
        while position < len(data) and (
            is_too_much or not (connection.has_more_work or self._work.spent > SLICE_UNITS)
        ):
            piece = data[position : position + PIECE_BYTES]
            position += len(piece)
            self._broker.receive(connection, piece, self._loop.time())
        if position >= len(data) or not connection.is_open:
            data, position = b"", 0
        channel.unread, channel.unread_from = data, position
        channel.unread_counted = len(data)
        self.unread_bytes += channel.unread_counted

    def queue_unfinished(self, channel: Channel) -> None:
        """Queue a client whose input is not fully processed.

        The client's next turn comes after the turns of the clients that were queued earlier.
        """
        if channel not in self._unfinished:
            channel.update_reading()
            if channel.overloaded:
                return  # `resume_overloaded` continues when there is space for its records
            self._unfinished[channel] = None
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._catch_up)

    def _catch_up(self) -> None:
        """Process more input of the client whose turn is next."""
        self._scheduled = False
        if not self._unfinished or not self._may_continue():
            return
        channel = next(iter(self._unfinished))
        del self._unfinished[channel]
        self._work.spent = 0
        recorded_bytes = self._broker.batch.pending_bytes()
        self.end_turn(channel, perf_counter())
        self.limit_records(channel, recorded_bytes)
        if channel.connection.meters:
            self.limit_rates(channel, recorded_bytes)
        if channel.has_more_input():
            self.queue_unfinished(channel)
        elif channel.lost:
            self._lose(channel)
        else:
            channel.update_reading()
        if self._unfinished:
            self.queue_unfinished(next(iter(self._unfinished)))
            if self.tick_units < TURN_UNITS:
                return  # the next turn's data is committed together with this one's
        self._schedule()


def _free_at(meter: Meter) -> float:
    return meter.free_at
