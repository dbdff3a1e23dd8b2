"""Which frames of one start of one board have been accepted, exactly and in little space.

`1-5,7-9`: everything up to the first gap, and what came beyond it. Frames may come in any order
(a damaged one is sent again behind its successors); each is accepted once.
"""

from bisect import bisect_right

# A board has at most 32 frames unacknowledged (docs/formats/board-frame.md), so that at most 32
# gaps can still be filled; older ones are frames that the board itself gave up.
RANGES_MAX = 64


class AcceptedSequences:
    def __init__(self, text: str = "") -> None:
        """`text` is what `str()` of another gave."""
        self._ranges: list[tuple[int, int]] = []
        for part in text.split(",") if text else []:
            first, _, last = part.partition("-")
            self._ranges.append((int(first), int(last)))

    def __str__(self) -> str:
        return ",".join(f"{first}-{last}" for first, last in self._ranges)

    def accept(self, sequence: int) -> bool:
        """True when this frame comes for the first time."""
        if self.holds(sequence):
            return False
        ranges = self._ranges
        index = bisect_right(ranges, (sequence, sequence))
        joins_left = index > 0 and ranges[index - 1][1] == sequence - 1
        joins_right = index < len(ranges) and ranges[index][0] == sequence + 1
        first = ranges[index - 1][0] if joins_left else sequence
        last = ranges[index][1] if joins_right else sequence
        ranges[index - joins_left : index + joins_right] = [(first, last)]
        if len(ranges) > RANGES_MAX:
            # The lowest gap closes: nobody can still be sending it.
            ranges[:2] = [(ranges[0][0], ranges[1][1])]
        return True

    def holds(self, sequence: int) -> bool:
        index = bisect_right(self._ranges, (sequence, 2**64)) - 1
        return index >= 0 and sequence <= self._ranges[index][1]
