"""Gateway time: milliseconds used for message expiry, session expiry and will delay.

Without a battery-backed clock, wall time starts in the past and jumps. Gateway time does not jump.
While the broker runs, gateway time follows only the monotonic clock. The next run of the broker
starts at the last known gateway time of the previous run. In a new data directory, gateway time
starts at wall time. Later, gateway time and wall time can differ by years, so gateway time is never
displayed.

An outage is a period in which the gateway is switched off. Its length can be calculated if the
clock was synchronised both before and after the outage. Wall time has then advanced more than
gateway time, and the difference is the length of the outage. The length is stored as an `Outage`,
and added to the age of everything older than the outage.
"""

from typing import Final

from gateway.broker.core.word import Word


class ClockQuality(Word):
    """Reliability of a wall clock reading. A higher value means a more reliable reading."""

    UNKNOWN = 0
    UNSYNCHRONISED = 1
    SYNCHRONISED = 2


OUTAGES_MAX: Final = 64
"""Maximum outages stored separately. There is one for each start without a synchronised clock.
Beyond this, the two oldest are merged, and messages created between them live longer by the length
of the younger outage."""


class Outage:
    """A period in which the broker did not run and gateway time did not advance."""

    def __init__(self, before_ms: int, before_message: int, length_ms: int) -> None:
        self.before_ms = before_ms
        """Gateway time at the start of the run after the outage."""
        self.before_message = before_message
        """The first message number of the run after the outage."""
        self.length_ms = length_ms


class GatewayTime:
    """The current gateway time, and the known outages."""

    def __init__(self) -> None:
        self.time_ms = 0
        """The current gateway time. During recovery, it is the latest time on disk."""
        self.outages: list[Outage] = []
        """Outages, oldest first."""
        self.offset_ms: int | None = None
        """Wall time minus gateway time when the clock was last synchronised, or None if it never
        was."""
        self.run: Outage | None = None
        """Start of the first run since the clock was last synchronised, after an outage of unknown
        length."""
        self.wall_ms = 0
        """Wall time when the newest batch was sealed, or 0 if there is no batch."""
        self.clock = ClockQuality.UNKNOWN
        """The reliability of `wall_ms`."""
        self.outage_became_known = False
        """True if the length of an outage became known during this run and the timers do not
        include the outage yet."""
        self._base_ms = 0
        """Gateway time at zero of the monotonic clock."""

    # -- a run

    def begin(
        self, now: float, wall_ms: int, clock_quality: ClockQuality, next_message: int
    ) -> None:
        """Start gateway time for a new run of the broker, at the monotonic time `now` (seconds).

        Gateway time continues from the latest time on disk, so it never runs backwards.
        `clock_quality` is the reliability of `wall_ms`. `next_message` is the number of the next
        new message.
        """
        self.time_ms = self.time_ms + 1 if self.time_ms else max(1, wall_ms)
        length_ms = 0
        if (
            self.run is None
            and self.offset_ms is not None
            and clock_quality is ClockQuality.SYNCHRONISED
        ):
            # Everything that exists is older than the outage, so the outage need not be stored:
            # gateway time simply advances by its length.
            length_ms = max(0, wall_ms - self.time_ms - self.offset_ms)
        self.time_ms += length_ms
        self.run_began(self.time_ms, next_message)
        self.sealed(self.time_ms, wall_ms, clock_quality)
        self.outage_became_known = False  # no timer is set yet
        self._base_ms = self.time_ms - int(now * 1000)

    def advance(self, now: float) -> None:
        """Advance the gateway time to the monotonic time `now` (seconds)."""
        time_ms = self._base_ms + int(now * 1000)
        self.time_ms = max(self.time_ms, time_ms)

    # -- times of batches, live and in recovery

    def run_began(self, time_ms: int, next_message: int) -> None:
        """Record that the broker started at gateway time `time_ms`.

        The length of the outage before this start is not known yet. `next_message` is the number
        of the next new message.
        """
        if self.run is None:
            self.run = Outage(time_ms, next_message, 0)

    def sealed(self, time_ms: int, wall_ms: int, clock_quality: ClockQuality) -> None:
        """Record the gateway time and the wall time at which a batch was sealed.

        `clock_quality` is the reliability of the wall time.
        """
        self.time_ms = max(self.time_ms, time_ms)
        self.wall_ms = wall_ms
        self.clock = clock_quality
        if clock_quality is not ClockQuality.SYNCHRONISED:
            return
        offset_ms = wall_ms - time_ms
        run, before_ms = self.run, self.offset_ms
        if run is not None and before_ms is not None and offset_ms > before_ms:
            self._add(Outage(run.before_ms, run.before_message, offset_ms - before_ms))
        self.offset_ms = offset_ms
        self.run = None

    def _add(self, outage: Outage) -> None:
        self.outages.append(outage)
        self.outage_became_known = True
        if len(self.outages) > OUTAGES_MAX:
            self.outages[0].length_ms += self.outages.pop(1).length_ms

    # -- deadlines

    def age_ms(self, since_ms: int) -> int:
        """Return the milliseconds since the gateway time `since_ms`, including known outages."""
        age_ms = self.time_ms - since_ms
        for outage in self.outages:
            if since_ms < outage.before_ms:
                age_ms += outage.length_ms
        return max(0, age_ms)

    def remaining_ms(self, message_number: int, expires_ms: int) -> int:
        """Return the milliseconds until a message expires, or 0 or less if it has expired.

        `expires_ms` is the expiry time in gateway time, which does not advance during outages.
        Therefore, the lengths of the known outages since the message was created are subtracted.
        The number of the message (`message_number`) determines which outages these are.
        """
        remaining_ms = expires_ms - self.time_ms
        index = len(self.outages) - 1
        while index >= 0 and message_number < self.outages[index].before_message:
            remaining_ms -= self.outages[index].length_ms
            index -= 1
        return remaining_ms
