"""Frames of boards that have been accepted, across restarts of either side. Pure.

A board counts its starts and its frames; one that was flashed again or replaced counts from the
beginning. So a frame is a resend only when its number *and* its contents are known
(docs/formats/board-frame.md). The same number with other contents is another start of that board,
whose readings are published under a boot number of their own: `boot + 2**32 * repeat`.

Remembered also when readings have long left the outbox: a board that missed an acknowledgement
sends the frame again, whenever that is.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from firmware_bridge.outbox.board_start import BoardStart
from firmware_bridge.readings.numbering import BoardIdentity

# A gateway's serial lines carry tens of boards; more are noise that passed the CRC.
DEVICES_MAX = 1024
# A board resends frames of its own latest start only; more for boards swapped to and fro.
STARTS_PER_DEVICE_MAX = 32
# One start whole for each device. About 600 bytes each, so 10 MB at the most.
BLOCKS_MAX = 16384
# Boot numbers that were used: a board that starts every hour uses 8,760 a year. About 2 MB.
BOOTS_COUNTED_MAX = 16384
# So that a published boot stays below 2**53, which every reader of JSON keeps exact.
REPEATS_MAX = 2**20
# A board's own boot number is 32 bits.
BOOTS = 2**32

StartKey = tuple[int, int, int]
"""device, boot, repeat"""

BootKey = tuple[int, int]
"""device, boot"""


@dataclass(frozen=True, slots=True)
class Placement:
    """Classification of a frame. `is_new`: it must be stored; `begins`: it is a start's first."""

    start: BoardStart
    is_new: bool
    begins: bool

    @property
    def published_boot(self) -> int:
        """The boot number under which the frame's readings are published."""
        return self.start.boot + BOOTS * self.start.repeat


@dataclass
class BoardRows:
    """Stored state of boards, or its changes since the last call. `blocks` is a key,
    a block's number, its digests and an order of use; `counts` is the number of starts with this
    boot; `floors` is, for a device, (boot, starts): no boot up to that one had more starts."""

    blocks: list[tuple[StartKey, int, bytes, int]] = field(default_factory=list)
    counts: list[tuple[BootKey, int]] = field(default_factory=list)
    floors: list[tuple[int, tuple[int, int]]] = field(default_factory=list)
    removed_blocks: list[tuple[StartKey, int]] = field(default_factory=list)
    removed_counts: list[BootKey] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.blocks or self.removed_blocks)


class TooManyStarts(Exception):
    """A board has begun again too often under one boot number."""


class Boards:
    """`place` looks, `accept` notes: between the two a frame may still be refused."""

    def __init__(self, rows: BoardRows | None = None) -> None:
        """Load `rows` as the outbox has them, in their order of use."""
        # In the order of use, the latest last.
        self._starts: OrderedDict[StartKey, BoardStart] = OrderedDict()
        self._of_device: dict[int, list[StartKey]] = {}
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

    def knows_room_for(self, device: int) -> bool:
        """Return False for one device too many: its frames are refused, not acknowledged."""
        return device in self._of_device or len(self._of_device) < DEVICES_MAX

    def place(self, identity: BoardIdentity, digest: bytes, source: str) -> Placement:
        """Find where a frame that came over this port belongs. Raises `TooManyStarts`."""
        starts = self._starts_of(identity, source)
        sequence = identity.sequence
        if starts:
            own = starts[0]
            if own.is_resent(sequence, digest):
                return Placement(own, is_new=False, begins=False)
            for other in starts[1:]:
                # Contents that are always the same do not show which start this is.
                if other.holds(sequence, digest) and not own.knows(digest):
                    return Placement(other, is_new=False, begins=False)
        for start in starts:
            if start.is_next(sequence):
                return Placement(start, is_new=True, begins=False)
        for start in starts:
            # A board that gave frames up, or was not connected for a while.
            if sequence > start.latest:
                return Placement(start, is_new=True, begins=False)
        repeat = self._starts_counted(identity.device, identity.boot)
        if repeat >= REPEATS_MAX:
            raise TooManyStarts
        return Placement(BoardStart(identity.boot, repeat, source), is_new=True, begins=True)

    def accept(
        self, placement: Placement, identity: BoardIdentity, digest: bytes, source: str
    ) -> None:
        """Note where `place` has put the same frame."""
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
        """Return what has changed since the last call."""
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
        """Return those of this boot number: this port's own first, then the latest used first."""
        used = [
            start for key, start in self._latest_first(identity.device) if key[1] == identity.boot
        ]
        # `sorted` keeps the order of equals.
        return sorted(used, key=lambda start: start.source != source)

    def _latest_first(self, device: int) -> Iterator[tuple[StartKey, BoardStart]]:
        for key in reversed(self._of_device.get(device, ())):
            yield key, self._starts[key]

    def _remember(self, key: StartKey, start: BoardStart) -> BoardStart:
        keys = self._of_device.setdefault(key[0], [])
        if len(keys) >= STARTS_PER_DEVICE_MAX:
            self._forget(keys[0])
        keys.append(key)
        self._starts[key] = start
        return start

    def _use(self, key: StartKey) -> None:
        self._starts.move_to_end(key)
        keys = self._of_device[key[0]]
        if keys[-1] != key:
            keys.remove(key)
            keys.append(key)

    def _forget(self, key: StartKey) -> None:
        """Forget its contents; that its boot number was used stays counted."""
        start = self._starts.pop(key)
        keys = self._of_device[key[0]]
        keys.remove(key)
        if not keys:
            del self._of_device[key[0]]
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
