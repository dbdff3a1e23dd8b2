"""Readings that have arrived and are not durable yet.

::

    add, accept -> gathered -> seal -> a batch -> committed -> gone

A batch is sealed when its commit begins. While the disk is full, sealed batches wait in line.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from firmware_bridge.outbox.boards import BoardRows, Boards, Placement
from firmware_bridge.readings.kinds import Kind
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.readings.publications import Publication


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Readings gathered between two commits; `durable` is done when they survive a power cut."""

    publications: list[Publication]
    boards: BoardRows
    bytes_count: int
    removable_bytes: int
    """Those of them that readings have which may give way to later ones."""
    durable: asyncio.Future[None]
    began: float
    """When the first reading was gathered (monotonic)."""
    kinds: Sequence[tuple[str, str, str, Kind]] = ()
    """Port, framing, name and kind of quantities that came for the first time."""


class Arrivals:
    """The batch that is being gathered, and those that are sealed."""

    def __init__(self, boards: Boards) -> None:
        self._boards = boards
        self._gathered: list[Publication] = []
        self._kinds: list[tuple[str, str, str, Kind]] = []
        self._gathered_bytes = 0
        self._gathered_removable_bytes = 0
        self._began = 0.0
        self._sealed: list[Batch] = []
        self._sealed_bytes = 0
        self.durable = _new_future()
        """Done when what is being gathered is durable."""

    @property
    def gathered_count(self) -> int:
        """Readings that no batch has yet."""
        return len(self._gathered)

    @property
    def count(self) -> int:
        """Readings that are not durable."""
        return len(self._gathered) + count_of(self._sealed)

    @property
    def bytes_count(self) -> int:
        """Their bytes."""
        return self._gathered_bytes + self._sealed_bytes

    @property
    def removable_bytes(self) -> int:
        """The bytes of those that may give way to later ones."""
        return self._gathered_removable_bytes + sum(each.removable_bytes for each in self._sealed)

    @property
    def sealed(self) -> Sequence[Batch]:
        """The batches that a commit has to take, in the order in which they were sealed."""
        return self._sealed

    def knows_room_for(self, device: int) -> bool:
        """Return False for one board too many: its frames are refused, not acknowledged."""
        return self._boards.knows_room_for(device)

    def add(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        """Gather readings; the future is done when they are durable."""
        if not self._gathered:
            self._began = time.monotonic()
        self._gathered += publications
        bytes_count = sum(each.bytes_count for each in publications)
        self._gathered_bytes += bytes_count
        if publications and publications[0].gives_way_of is not None:  # all are of one port
            self._gathered_removable_bytes += bytes_count
        return self.durable

    def note_kinds(self, port: str, framing: str, kinds: Mapping[str, Kind]) -> None:
        """Add the kinds of a port's quantities to the batch."""
        self._kinds += [(port, framing, name, kind) for name, kind in kinds.items()]

    def accept(
        self,
        identity: BoardIdentity,
        digest: bytes,
        source: str,
        publications_of: Callable[[int], Sequence[Publication]],
    ) -> tuple[Sequence[Publication], Placement]:
        """Note a board's frame; its readings, none where it was accepted before.

        Raises:
            TooManyStarts: and nothing is noted.
        """
        placement = self._boards.place(identity, digest, source)
        publications = publications_of(placement.published_boot) if placement.is_new else ()
        # Nothing behind this line can fail: accepted and stored are one step.
        self._boards.accept(placement, identity, digest, source)
        return publications, placement

    def durable_without_commit(self) -> asyncio.Future[None] | None:
        """Return the future of a frame accepted before; None where a later commit has it."""
        if self._gathered:
            return None
        if self._sealed:
            # What it repeats is being committed, or waits for room on the disk.
            return self._sealed[-1].durable
        # It is durable, and only its acknowledgement has not come to the board.
        durable = _new_future()
        durable.set_result(None)
        return durable

    def seal(self) -> Batch:
        """End the batch and begin another; it waits in line while the disk has no room for it."""
        batch = Batch(
            self._gathered,
            self._boards.take_changes(),
            self._gathered_bytes,
            self._gathered_removable_bytes,
            self.durable,
            self._began,
            self._kinds,
        )
        self._gathered, self._kinds = [], []
        self._gathered_removable_bytes = 0
        self._sealed_bytes, self._gathered_bytes = self._sealed_bytes + self._gathered_bytes, 0
        self.durable = _new_future()
        if batch.publications or batch.boards or batch.kinds:
            self._sealed.append(batch)
        return batch

    def committed(self, batches: Sequence[Batch]) -> None:
        """Complete the futures of the oldest sealed batches, which are durable now."""
        for batch in batches:
            self._sealed_bytes -= batch.bytes_count
            batch.durable.set_result(None)
        del self._sealed[: len(batches)]

    def complete_empty(self, batch: Batch) -> None:
        """Complete the future of a batch with nothing in it; one that still waits stays open."""
        if batch not in self._sealed and not batch.durable.done():
            batch.durable.set_result(None)


def count_of(batches: Sequence[Batch]) -> int:
    """Return how many readings batches have."""
    return sum(len(each.publications) for each in batches)


def bytes_of(batches: Sequence[Batch]) -> int:
    """Return the bytes of their readings."""
    return sum(each.bytes_count for each in batches)


def _new_future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()
