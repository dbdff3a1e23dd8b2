"""Record of the frames that were accepted from a board after it was switched on or reset.

The latest 1,024 frames are recorded, in blocks of 64 frames. Each block is one row in the outbox's
database, so a new frame changes only one small row. Block number b contains these digests of eight
bytes each::

    digest of frame 64 * b | digest of frame 64 * b + 1 | ... | digest of frame 64 * b + 63

A digest of zeros means that the frame was not accepted.
"""

from collections.abc import Iterator

# Number of frames whose digests are known. A board may have 32 unacknowledged frames, and resends
# each after half a second. At 115,200 baud 200 frames of 28 bytes pass in this time, so five
# acknowledgements in a row can be lost.
FRAMES_REMEMBERED = 1024
FRAMES_PER_BLOCK = 64
BLOCKS_PER_START_MAX = FRAMES_REMEMBERED // FRAMES_PER_BLOCK + 1
# docs/formats/board-frame.md: a board has at most 32 unacknowledged frames, so without a new frame
# it cannot resend more than these. The limit is twice that, for two boards with the same number.
RESENDS_MAX = 64
# A board's next frame is at most this far ahead of its latest accepted frame.
FRAMES_AHEAD_MAX = 32
# A new frame is normally at most this far below it: a board sends its unacknowledged frames in any
# order. The limit is twice the number of these, because a board may have discarded some.
FRAMES_BEHIND_MAX = 64

DIGEST_BYTES = 8
BLOCK_BYTES = FRAMES_PER_BLOCK * DIGEST_BYTES
NOT_ACCEPTED = bytes(DIGEST_BYTES)


class BoardStart:
    """Record of the accepted frames that a board sent after one of its starts.

    A board can start several times with the same boot number. `repeat` numbers these starts, from
    0. `source` is the name of the port from which the frames came.
    """

    def __init__(self, boot: int, repeat: int, source: str | None = None) -> None:
        self.boot = boot
        self.repeat = repeat
        self.source = source
        self.latest = 0
        self._blocks: dict[int, bytearray] = {}
        self._resent: set[int] = set()

    @property
    def block_count(self) -> int:
        """The number of blocks in this record."""
        return len(self._blocks)

    def blocks(self) -> list[int]:
        """Return the numbers of the blocks in this record."""
        return list(self._blocks)

    def load(self, block: int, digests: bytes) -> None:
        """Load a block of digests from a row of the outbox. `digests` has `BLOCK_BYTES` bytes."""
        self._blocks[block] = bytearray(digests)
        for index in range(FRAMES_PER_BLOCK):
            if digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES] != NOT_ACCEPTED:
                self.latest = max(self.latest, block * FRAMES_PER_BLOCK + index)

    def digests_of(self, block: int) -> bytes:
        """Return the digests of a block, as they are stored in a row of the outbox."""
        return bytes(self._blocks[block])

    def is_resent(self, sequence: int, digest: bytes) -> bool:
        """Return True if a frame with this number and these contents was accepted before.

        Return False if the board has already repeated `RESENDS_MAX` other frames since its last new
        frame. A board only repeats its unacknowledged frames, and has fewer of them.
        """
        if not self.holds(sequence, digest):
            return False
        return sequence in self._resent or len(self._resent) < RESENDS_MAX

    def holds(self, sequence: int, digest: bytes) -> bool:
        """Return True if a frame with this number and this digest of its contents was accepted."""
        return self._digest_of(sequence) == digest

    def has_contents(self, digest: bytes) -> bool:
        """Return True if any recorded frame has contents with this digest."""
        return any(
            digest == digests[at : at + DIGEST_BYTES]
            for digests in self._blocks.values()
            for at in range(0, BLOCK_BYTES, DIGEST_BYTES)
        )

    def is_free(self, sequence: int) -> bool:
        """Return True if no frame with this number was accepted.

        Return False if this is unknown, because the number is too old to be in the record.
        """
        if sequence > self.latest:
            return True
        return sequence > self.latest - FRAMES_REMEMBERED and (
            self._digest_of(sequence) == NOT_ACCEPTED
        )

    def is_next(self, sequence: int) -> bool:
        """Return True if a new frame with this number is expected.

        The number must be unused and near the latest accepted number: at most `FRAMES_BEHIND_MAX`
        below it, and at most `FRAMES_AHEAD_MAX` above it.
        """
        distance = sequence - self.latest
        return -FRAMES_BEHIND_MAX <= distance <= FRAMES_AHEAD_MAX and self.is_free(sequence)

    def note_resent(self, sequence: int) -> None:
        """Record that the frame `sequence` was received again."""
        self._resent.add(sequence)

    def accept(self, sequence: int, digest: bytes) -> tuple[int, list[int]]:
        """Record a new frame as accepted. No frame with this number may have been accepted before.

        Return the number of the block that was changed, and the numbers of old blocks that were
        removed.
        """
        assert self.is_free(sequence), f"frame {sequence} of {self.boot} + {self.repeat} is taken"
        self._resent.clear()
        self.latest = max(self.latest, sequence)
        block, index = divmod(sequence, FRAMES_PER_BLOCK)
        digests = self._blocks.setdefault(block, bytearray(BLOCK_BYTES))
        digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES] = digest
        forgotten = list(self._forgettable()) if len(self._blocks) > BLOCKS_PER_START_MAX else []
        for each in forgotten:
            del self._blocks[each]
        return block, forgotten

    def _forgettable(self) -> Iterator[int]:
        oldest = (self.latest - FRAMES_REMEMBERED) // FRAMES_PER_BLOCK
        return (block for block in self._blocks if block < oldest)

    def _digest_of(self, sequence: int) -> bytes:
        block, index = divmod(sequence, FRAMES_PER_BLOCK)
        digests = self._blocks.get(block)
        if digests is None:
            return NOT_ACCEPTED
        return bytes(digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES])
