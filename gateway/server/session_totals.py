"""What the status tells of all sessions together, counted in slices.

A walk over 100,000 sessions at once would make everybody wait for a tenth of a second. What changes
between two slices may or may not be in the count.
"""

from typing import Final

from gateway.core.state import State

SLICE_SESSIONS: Final = 2_000
"""Sessions looked at in one turn of the loop: a millisecond or two on a PC."""


class SessionTotals:
    """Sums over the sessions that there are when the count begins."""

    def __init__(self, state: State) -> None:
        self._left = list(state.sessions.values())
        self.sessions = len(self._left)
        self.connected = 0
        self.persistent = 0
        self.queued_messages = 0
        self.queued_bytes = 0
        self.inflight = 0
        self.awaiting_release = 0

    def advance(self) -> bool:
        """Count a slice; return whether that was the last."""
        for session in self._left[-SLICE_SESSIONS:]:
            self.connected += session.connection is not None
            self.persistent += session.durable
            self.queued_messages += session.queued_count
            self.queued_bytes += session.queued_bytes
            self.inflight += len(session.outbound)
            self.awaiting_release += len(session.inbound)
        del self._left[-SLICE_SESSIONS:]
        return not self._left
