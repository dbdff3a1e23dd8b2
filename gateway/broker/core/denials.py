"""Denied actions, counted by client and type of denial. Each count is logged as one line.

A client therefore cannot flood the log by repeating a denied action. Only a limited number of pairs
of client and type are counted separately.
"""

from typing import Final

ENTRIES_MAX: Final = 1_000
"""Maximum pairs of client and type counted separately. Further denials only count in total."""

SECONDS_BETWEEN_LINES: Final = 60.0
"""Minimum seconds between two log lines for the same client and type of denial."""

_TOPIC_CHARACTERS_MAX: Final = 200


class Denial:
    """Denials of one type for one client, which are counted and logged as one line."""

    def __init__(self, reason: str, client_id: str, username: str | None, topic: str) -> None:
        self.reason = reason
        """Name of the type of denial, as in `errors` of the status."""
        self.client_id = client_id
        self.username = username
        self.topic = topic
        """The latest denied topic or filter, truncated to fit into a log line."""
        self.count = 0
        """Number of denials since the last log line."""
        self.next_line_at = 0.0


class Denials:
    """Counter of denied actions by client and type. It also creates the log lines."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Denial] = {}
        self.unlogged_count = 0
        """Denials of pairs beyond `ENTRIES_MAX` since they were last logged."""

    def add(self, reason: str, client_id: str, username: str | None, topic: str) -> None:
        """Count a denied action of a client.

        `reason` is the type of denial, named as in the `errors` field of the status. `topic` is the
        topic or filter that was denied.
        """
        key = (client_id, reason)
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= ENTRIES_MAX:
                self.unlogged_count += 1
                return
            entry = Denial(reason, client_id, username, topic)
            self._entries[key] = entry
        entry.count += 1
        entry.username = username
        entry.topic = topic[:_TOPIC_CHARACTERS_MAX]

    def take(self, now: float, count_max: int) -> list[tuple[str, str]]:
        """Return at most `count_max` log lines that are due, each with its client identifier.

        Further lines are returned by later calls. `now` is the monotonic time in seconds.
        """
        if not self._entries:
            return []
        lines: list[tuple[str, str]] = []
        for key, entry in list(self._entries.items()):
            if now < entry.next_line_at:
                continue
            if not entry.count:
                del self._entries[key]
            elif len(lines) < count_max:
                user = "" if entry.username is None else f" of user {entry.username!r}"
                times = "once" if entry.count == 1 else f"{entry.count} times"
                sentence = f"{entry.reason} {times}, {entry.topic!r} last"
                lines.append((f"client {entry.client_id!r}{user}: {sentence}", entry.client_id))
                entry.count = 0
                entry.next_line_at = now + SECONDS_BETWEEN_LINES
        if self.unlogged_count and len(lines) < count_max:
            lines.append(
                (f"{self.unlogged_count} denials of further clients; the counters have them", "")
            )
            self.unlogged_count = 0
        return lines
