"""Detects lost, duplicate and reordered messages from one publisher at one subscriber.

Messages that arrive in order are only counted. Other messages are examined one by one. A gap in the
sequence numbers is stored as a range. Messages that fill the gap later count as late. Messages that
are still missing when the run ends count as lost. A message whose number has already arrived is a
duplicate.
"""

from bisect import bisect_right


class Sequences:
    """A record of the messages that one subscriber has received from one publisher.

    `next` is the highest sequence number that was received, plus 1.
    """

    def __init__(self) -> None:
        self.next = 0
        self.received = 0
        self.duplicates = 0
        self.late = 0
        # Missing ranges, as sorted starts and exclusive ends.
        self._starts: list[int] = []
        self._ends: list[int] = []

    def receive_run(self, count: int) -> None:
        """Count `count` messages that were received in order."""
        self.next += count
        self.received += count

    def receive(self, sequence: int) -> None:
        """Count the message with the number `sequence`. It might be repeated or out of order."""
        if sequence >= self.next:
            if sequence > self.next:
                self._starts.append(self.next)
                self._ends.append(sequence)
            self.next = sequence + 1
            self.received += 1
        elif self._fill(sequence):
            self.late += 1
            self.received += 1
        else:
            self.duplicates += 1

    def lost_of(self, sent: int) -> int:
        """Return how many of the first `sent` messages were not received."""
        gaps = sum(
            end - start for start, end in zip(self._starts, self._ends, strict=True) if start < sent
        )
        return gaps + max(0, sent - self.next)

    def _fill(self, sequence: int) -> bool:
        """Remove a sequence number from the gap that contains it.

        Return True, or False if no gap contains the number.
        """
        index = bisect_right(self._starts, sequence) - 1
        if index < 0 or sequence >= self._ends[index]:
            return False
        start, end = self._starts[index], self._ends[index]
        parts = [part for part in ((start, sequence), (sequence + 1, end)) if part[0] < part[1]]
        self._starts[index : index + 1] = [part[0] for part in parts]
        self._ends[index : index + 1] = [part[1] for part in parts]
        return True
