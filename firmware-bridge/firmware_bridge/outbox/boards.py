"""Records which frames of boards were accepted, across restarts of a board and of the bridge.

A board counts its starts and its frames. If the board is flashed again or replaced, the counts
start over. A frame is therefore a repeat only if both its number *and* its contents are known
(docs/formats/board-frame.md). If a frame has a known number but new contents, the board has
started again with the same boot number. To tell the starts apart, readings are published with the
boot number `boot + 2**32 * repeat`, where `repeat` numbers the starts from 0.

A record is kept after the frame's readings have left the outbox. A board that missed an
acknowledgement can repeat a frame at any later time. This module does no I/O.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from firmware_bridge.outbox.board_start import BoardStart
from firmware_bridge.readings.numbering import BoardIdentity

# A gateway's serial lines carry tens of boards. More than this are noise that passed the CRC.
DEVICES_MAX = 1024
# A board resends only frames of its latest start. More are kept for boards that are swapped.
STARTS_PER_DEVICE_MAX = 32
# One complete start for each device. A block takes about 600 bytes, so all take at most 10 MB.
BLOCKS_MAX = 16384
# Used boot numbers. A board that starts every hour uses 8,760 a year. They take about 2 MB.
BOOTS_COUNTED_MAX = 16384
# A published boot number must stay below 2**53, because JSON readers keep only such numbers exact.
REPEATS_MAX = 2**20
# A board's own boot number has 32 bits.
BOOTS = 2**32

StartKey = tuple[int, int, int]
"""Key of a board's start: device, boot number and repeat."""

BootKey = tuple[int, int]
"""Key of a boot number: device and boot number."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The classification of a board's frame as new or repeated.

    `start` is the record of the board's start to which the frame belongs. `is_new` is True if the
    frame must be stored. `begins` is True if the frame is the first one since this start.
    """

    start: BoardStart
    is_new: bool
    begins: bool

    @property
    def published_boot(self) -> int:
        """The boot number with which the frame's readings are published."""
        return self.start.boot + BOOTS * self.start.repeat


@dataclass
class BoardRows:
    """Database rows about boards: all stored rows, or the changes since the last commit.

    - `blocks`: the key of a board's start, the number of a block, the digests in the block, and a
      number that orders the blocks by their latest use
    - `counts`: a device's boot number, and the number of starts with this boot number
    - `floors`: a summary of a device's deleted rows of `counts`: the highest boot number, and the
      highest number of starts
    - `removed_blocks`, `removed_counts`: the keys of deleted rows
    """

    blocks: list[tuple[StartKey, int, bytes, int]] = field(default_factory=list)
    counts: list[tuple[BootKey, int]] = field(default_factory=list)
    floors: list[tuple[int, tuple[int, int]]] = field(default_factory=list)
    removed_blocks: list[tuple[StartKey, int]] = field(default_factory=list)
    removed_counts: list[BootKey] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.blocks or self.removed_blocks)


class TooManyStarts(Exception):
    """Raised if a frame is refused because its board has reused a boot number too often."""


class Boards:
    """Record of the accepted frames of all boards.

    `place` classifies a frame, and `accept` records it as accepted. A caller that refuses the frame
    does not call `accept`.
    """

    def __init__(self, rows: BoardRows | None = None) -> None:
        """Load the stored rows, if any. The rows in `blocks` must be sorted by their latest use."""
        # In the order of use, with the most recently used last.
        self._starts: OrderedDict[StartKey, BoardStart] = OrderedDict()
        self._by_device: dict[int, list[StartKey]] = {}
        self._counts: dict[BootKey, int] = {}
        self._floors: dict[int, tuple[int, int]] = {}
        self._block_count = 0
        self._used = 0
        self._changed: set[tuple[StartKey, int]] = set()
        self._changes = BoardRows()
        self._counted: set[BootKey] = set()
        if rows is not None:
            self._load(rows)

    def _load(self, rows: BoardRows) -> None:
        self._counts.update(rows.counts)
        self._floors.update(rows.floors)
        for key, block, digests, used in rows.blocks:
            device, boot, repeat = key
            start = self._starts.get(key)
            if start is None:
                start = self._remember(key, BoardStart(boot, repeat))
            start.load(block, digests)
            self._block_count += 1
            self._use(key)
            self._counts[device, boot] = max(self._counts.get((device, boot), 0), repeat + 1)
            self._used = max(self._used, used)

    def has_room_for(self, device: int) -> bool:
        """Return True if frames of the board `device` are accepted.

        If there are already records of `DEVICES_MAX` boards, frames of other boards are refused.
        """
        return device in self._by_device or len(self._by_device) < DEVICES_MAX

    def place(self, identity: BoardIdentity, digest: bytes, source: str) -> Placement:
        """Classify a frame from the port `source`. `digest` identifies the frame's contents.

        Raises:
            TooManyStarts: if the board has started too often with this boot number.
        """
        starts = self._starts_of(identity, source)
        sequence = identity.sequence
        if starts:
            own = starts[0]
            if own.is_resent(sequence, digest):
                return Placement(own, is_new=False, begins=False)
            for other in starts[1:]:
                # If the contents are always the same, they do not show which start this is.
                if other.holds(sequence, digest) and not own.has_contents(digest):
                    return Placement(other, is_new=False, begins=False)
        for start in starts:
            if start.is_next(sequence):
                return Placement(start, is_new=True, begins=False)
        for start in starts:
            # The board has discarded frames, or was not connected for a while.
            if sequence > start.latest:
                return Placement(start, is_new=True, begins=False)
        for start in starts:
            # An old frame that never arrived. It is recorded here only if it fits nowhere better:
            # the record of a board that is far ahead would soon forget it, and not know its repeat.
            if start.is_free(sequence):
                return Placement(start, is_new=True, begins=False)
        repeat = self._starts_counted(identity.device, identity.boot)
        if repeat >= REPEATS_MAX:
            raise TooManyStarts
        return Placement(BoardStart(identity.boot, repeat, source), is_new=True, begins=True)

    def accept(
        self, placement: Placement, identity: BoardIdentity, digest: bytes, source: str
    ) -> None:
        """Record a frame as accepted, with the placement that `place` returned for it."""
        start = placement.start
        key = (identity.device, identity.boot, start.repeat)
        if placement.begins:
            self._remember(key, start)
            self._count(identity.device, identity.boot, start.repeat + 1)
        start.source = source
        self._use(key)
        if not placement.is_new:
            start.note_resent(identity.sequence)
            return
        before = start.block_count
        block, forgotten = start.accept(identity.sequence, digest)
        self._block_count += start.block_count - before
        self._changed.add((key, block))
        for each in forgotten:
            self._forget_block(key, each)
        while self._block_count > BLOCKS_MAX:
            self._forget(next(iter(self._starts)))

    def take_changes(self) -> BoardRows:
        """Return the rows that have changed since the last call, to be stored in the outbox."""
        changes, self._changes = self._changes, BoardRows()
        for key, block in self._changed:
            self._used += 1
            digests = self._starts[key].digests_of(block)
            changes.blocks.append((key, block, digests, self._used))
        self._changed.clear()
        for boot in self._counted:
            if boot in self._counts:
                changes.counts.append((boot, self._counts[boot]))
            else:
                changes.removed_counts.append(boot)
        self._counted.clear()
        return changes

    def _starts_of(self, identity: BoardIdentity, source: str) -> list[BoardStart]:
        """Return the recorded starts of a frame's board with the boot number of the frame.

        Starts whose latest frame came from the port `source` are listed before the others. Within
        these two groups, the most recently used start comes first.
        """
        used = [
            start for key, start in self._latest_first(identity.device) if key[1] == identity.boot
        ]
        # `sorted` is stable, so the order of use is kept otherwise.
        return sorted(used, key=lambda start: start.source != source)

    def _latest_first(self, device: int) -> Iterator[tuple[StartKey, BoardStart]]:
        for key in reversed(self._by_device.get(device, ())):
            yield key, self._starts[key]

    def _remember(self, key: StartKey, start: BoardStart) -> BoardStart:
        keys = self._by_device.setdefault(key[0], [])
        if len(keys) >= STARTS_PER_DEVICE_MAX:
            self._forget(keys[0])
        keys.append(key)
        self._starts[key] = start
        return start

    def _use(self, key: StartKey) -> None:
        self._starts.move_to_end(key)
        keys = self._by_device[key[0]]
        if keys[-1] != key:
            keys.remove(key)
            keys.append(key)

    def _forget(self, key: StartKey) -> None:
        """Delete the frames that were recorded for a board's start.

        The start itself still counts as one of the board's starts with this boot number.
        """
        start = self._starts.pop(key)
        keys = self._by_device[key[0]]
        keys.remove(key)
        if not keys:
            del self._by_device[key[0]]
        for block in start.blocks():
            self._forget_block(key, block)
        self._block_count -= start.block_count

    def _forget_block(self, key: StartKey, block: int) -> None:
        self._changed.discard((key, block))
        self._changes.removed_blocks.append((key, block))

    def _starts_counted(self, device: int, boot: int) -> int:
        floor_boot, floor = self._floors.get(device, (-1, 0))
        return max(self._counts.get((device, boot), 0), floor if boot <= floor_boot else 0)

    def _count(self, device: int, boot: int, starts: int) -> None:
        self._counts[device, boot] = starts
        self._counted.add((device, boot))
        if len(self._counts) > BOOTS_COUNTED_MAX:
            oldest = next(iter(self._counts))
            dropped = self._counts.pop(oldest)
            floor_boot, floor = self._floors.get(oldest[0], (-1, 0))
            raised = (max(floor_boot, oldest[1]), max(floor, dropped))
            self._floors[oldest[0]] = raised
            self._counted.add(oldest)
            self._changes.floors.append((oldest[0], raised))
