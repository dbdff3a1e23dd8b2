"""How many messages the broker keeps for others, counted in slices.

Walking 100,000 sessions at once would make everybody wait. A count therefore goes on for a bounded
number of steps at a time, and what changes meanwhile may or may not be in it.
"""

from collections.abc import Iterator
from typing import Final

from gateway.core.state import State

SLICE_STEPS: Final = 1_000
"""Sessions, deliveries or retained messages looked at in one turn of the loop: half a
millisecond on a PC, some milliseconds on a Raspberry Pi."""


class StoredTotals:
    """Messages in queues, in flight, held until PUBREL, and retained."""

    def __init__(self, state: State) -> None:
        self.count = 0
        self.bytes = 0
        """Topics and payloads; not of messages in flight whose contents are on disk only."""
        self._steps = self._walk(state)

    def advance(self) -> bool:
        """Go on for a slice; return whether the count is complete."""
        return next(self._steps, None) is None

    def _walk(self, state: State) -> Iterator[int]:
        steps = 0
        for session in list(state.sessions.values()):
            self.count += session.queued_count + len(session.outbound) + len(session.inbound)
            self.bytes += session.queued_bytes
            for delivery in session.outbound.values():
                if delivery.message is not None:
                    self.bytes += delivery.message.size_bytes()
            for held in session.inbound.values():
                self.bytes += held.message.size_bytes()
            steps += 1 + len(session.outbound) + len(session.inbound)
            if steps >= SLICE_STEPS:
                yield steps
                steps = 0
        for message in list(state.retained.values()):
            self.count += 1
            self.bytes += message.size_bytes()
            steps += 1
            if steps >= SLICE_STEPS:
                yield steps
                steps = 0
