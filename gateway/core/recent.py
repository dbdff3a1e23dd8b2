"""Counts of the last hour by client and reason, for warnings that clear by themselves; pure.

Time is counted in steps of ten minutes: `advance` starts a new one and forgets the oldest.
"""

from typing import Final

STEP_SECONDS: Final = 600.0
STEPS: Final = 6
"""Whole steps kept next to the one that is running: a count covers 60 to 70 minutes."""

ENTRIES_MAX: Final = 1_000
"""Pairs of client and reason that are counted apart, some 300 kB; more are in the sum only."""

_TOPIC_CHARACTERS_MAX: Final = 200


class RecentCount:
    """A count over the last hour."""

    def __init__(self) -> None:
        self.steps = [0] * (STEPS + 1)
        """The running step first."""

    def advance(self, steps: int) -> None:
        """Forget what is older than an hour, `steps` steps later."""
        for _ in range(min(steps, STEPS + 1)):
            self.steps.pop()
            self.steps.insert(0, 0)

    def value(self) -> int:
        """Return the count over the last hour."""
        return sum(self.steps)


class Recent:
    """Occurrences of one reason at one client over the last hour."""

    def __init__(self, reason: str, client_id: str) -> None:
        self.reason = reason
        self.client_id = client_id
        self.username: str | None = None
        self.topic: str | None = None
        """The latest topic or filter, cut to 200 characters; None where it is unknown."""
        self.count = RecentCount()


class RecentCounts:
    """Occurrences over the last hour, by client and reason."""

    def __init__(self) -> None:
        self._all = RecentCount()
        self._entries: dict[tuple[str, str], Recent] = {}
        self._step_ends_at: float | None = None

    def add(self, reason: str, client_id: str, username: str | None, topic: str | None) -> None:
        """Count one occurrence."""
        self._all.steps[0] += 1
        key = (client_id, reason)
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= ENTRIES_MAX:
                return
            entry = Recent(reason, client_id)
            self._entries[key] = entry
        entry.count.steps[0] += 1
        entry.username = username
        entry.topic = None if topic is None else topic[:_TOPIC_CHARACTERS_MAX]

    def advance(self, now: float) -> None:
        """Forget what is older than an hour at `now`, in monotonic seconds."""
        if self._step_ends_at is None:
            self._step_ends_at = now + STEP_SECONDS
        if now < self._step_ends_at:
            return
        steps = 1 + int((now - self._step_ends_at) / STEP_SECONDS)
        self._step_ends_at += steps * STEP_SECONDS
        self._all.advance(steps)
        for key, entry in list(self._entries.items()):
            entry.count.advance(steps)
            if not entry.count.value():
                del self._entries[key]

    def total(self) -> int:
        """Return all occurrences of the last hour."""
        return self._all.value()

    def largest(self, count_max: int) -> list[Recent]:
        """Return the entries with the highest counts, the highest first."""
        entries = sorted(self._entries.values(), key=lambda each: -each.count.value())
        return entries[:count_max]
