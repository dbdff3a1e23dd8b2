"""Counts of events during the last hour, by client and reason.

Warnings are based on these counts, so a warning disappears about an hour after its cause. Time is
divided into steps of ten minutes. `advance` starts a new step and discards the oldest. This module
is pure: it does no I/O and reads no clock.
"""

from typing import Final

STEP_SECONDS: Final = 600.0
STEPS: Final = 6
"""Complete steps stored in addition to the current step. A count thus covers 60 to 70 minutes."""

ENTRIES_MAX: Final = 1_000
"""Maximum pairs of client and reason that are counted separately: about 300 kB. Further pairs count
only in the total."""

_TOPIC_CHARACTERS_MAX: Final = 200


class StepClock:
    """A clock that counts ten-minute steps, starting with the first call of `steps_ended`."""

    def __init__(self) -> None:
        self._ends_at: float | None = None

    def steps_ended(self, now: float) -> int:
        """Return the number of ten-minute steps that have ended since the last call.

        `now` is the monotonic time in seconds.
        """
        if self._ends_at is None:
            self._ends_at = now + STEP_SECONDS
        if now < self._ends_at:
            return 0
        steps = 1 + int((now - self._ends_at) / STEP_SECONDS)
        self._ends_at += steps * STEP_SECONDS
        return steps


class RecentCount:
    """Number of events in the last hour, stored as one count for each step of ten minutes."""

    def __init__(self) -> None:
        self.running = 0
        """Count in the current step."""
        self._steps = [0] * STEPS
        """Counts in the previous steps, newest first."""

    def advance(self, steps: int) -> None:
        """Start `steps` new ten-minute steps. Discard counts older than an hour."""
        for _ in range(min(steps, STEPS + 1)):
            self._steps = [self.running, *self._steps[: STEPS - 1]]
            self.running = 0

    def value(self) -> int:
        """Return the count over the last hour, including the current step."""
        return self.running + sum(self._steps)


class Recent:
    """Number of events in the last hour for one client and one reason."""

    def __init__(self, reason: str, client_id: str) -> None:
        self.reason = reason
        self.client_id = client_id
        self.username: str | None = None
        self.topic: str | None = None
        """The latest topic or filter, truncated to 200 characters, or None if unknown."""
        self.count = RecentCount()


class RecentCounts:
    """Numbers of events in the last hour, in total and for each pair of client and reason."""

    def __init__(self) -> None:
        self._all = RecentCount()
        self._entries: dict[tuple[str, str], Recent] = {}
        self._latest: Recent | None = None
        """The entry that was counted last, since a full queue drops many messages in a row."""
        self._clock = StepClock()

    def add(self, reason: str, client_id: str, username: str | None, topic: str | None) -> None:
        """Count one event for a client and a reason.

        `username` and `topic` replace those of the previous event.
        """
        self._all.running += 1
        entry = self._latest
        if entry is None or entry.client_id != client_id or entry.reason != reason:
            entry = self._entry_of(reason, client_id)
            if entry is None:
                return
            self._latest = entry
        entry.count.running += 1
        entry.username = username
        if topic is not None and len(topic) > _TOPIC_CHARACTERS_MAX:
            topic = topic[:_TOPIC_CHARACTERS_MAX]
        entry.topic = topic

    def _entry_of(self, reason: str, client_id: str) -> Recent | None:
        key = (client_id, reason)
        entry = self._entries.get(key)
        if entry is None and len(self._entries) < ENTRIES_MAX:
            entry = Recent(reason, client_id)
            self._entries[key] = entry
        return entry

    def advance(self, now: float) -> None:
        """Discard counts that are more than an hour old.

        `now` is the monotonic time in seconds.
        """
        steps = self._clock.steps_ended(now)
        if not steps:
            return
        self._latest = None
        self._all.advance(steps)
        for key, entry in list(self._entries.items()):
            entry.count.advance(steps)
            if not entry.count.value():
                del self._entries[key]

    def total(self) -> int:
        """Return the number of all events in the last hour."""
        return self._all.value()

    def largest(self, count_max: int) -> list[Recent]:
        """Return at most `count_max` entries with the highest counts, the highest first."""
        entries = sorted(self._entries.values(), key=lambda each: -each.count.value())
        return entries[:count_max]
