"""Collects arriving readings in batches, and keeps each batch until it is durable.

::

    add() -> collected readings -> seal() -> sealed batch -> committed() -> removed from memory

A batch is sealed when its commit begins. Readings that arrive later are collected for the next
batch. While the disk is full, sealed batches wait in order.
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
    """Readings that arrived between two commits and are committed together.

    `durable` is a future that is done when the readings are safely on disk.
    """

    publications: list[Publication]
    boards: BoardRows
    bytes_count: int
    removable_bytes: int
    """Size in bytes of the readings that may be dropped to make room for newer readings."""
    durable: asyncio.Future[None]
    began: float
    """Arrival time of the first reading, in seconds, from the monotonic clock."""
    kinds: Sequence[tuple[str, str, str, Kind]] = ()
    """Port, protocol, name and data type of quantities that arrived for the first time."""


class Arrivals:
    """The readings that are being collected, and the sealed batches that are not durable yet."""

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
        """A future that is done when the readings that are being collected are durable."""

    @property
    def gathered_count(self) -> int:
        """The number of readings that are being collected for the next batch."""
        return len(self._gathered)

    @property
    def count(self) -> int:
        """The number of readings that are not durable yet."""
        return len(self._gathered) + count_of(self._sealed)

    @property
    def bytes_count(self) -> int:
        """The number of bytes of the readings that are not durable yet."""
        return self._gathered_bytes + self._sealed_bytes

    @property
    def removable_bytes(self) -> int:
        """The size in bytes of the readings that are not durable yet and may be dropped."""
        return self._gathered_removable_bytes + sum(each.removable_bytes for each in self._sealed)

    @property
    def sealed(self) -> Sequence[Batch]:
        """The batches that are waiting for their commit, in the order in which they were sealed."""
        return self._sealed

    def has_room_for(self, device: int) -> bool:
        """Return True if the outbox accepts frames of the board `device`.

        The outbox keeps a record of each board, up to a maximum number of boards. When this number
        is reached, frames of boards without a record are refused.
        """
        return self._boards.has_room_for(device)

    def add(self, publications: Sequence[Publication]) -> asyncio.Future[None]:
        """Add readings to the next batch. Return a future that is done when they are durable."""
        if not self._gathered:
            self._began = time.monotonic()
        self._gathered += publications
        bytes_count = sum(each.bytes_count for each in publications)
        self._gathered_bytes += bytes_count
        if publications and publications[0].gives_way_of is not None:  # all are from one port
            self._gathered_removable_bytes += bytes_count
        return self.durable

    def note_kinds(self, port: str, framing: str, kinds: Mapping[str, Kind]) -> None:
        """Add the data types of a port's new quantities to the next batch.

        `kinds` maps the name of each quantity to its type: number, text or boolean. `framing` is
        the name of the port's protocol.
        """
        self._kinds += [(port, framing, name, kind) for name, kind in kinds.items()]

    def accept(
        self,
        identity: BoardIdentity,
        digest: bytes,
        source: str,
        publications_of: Callable[[int], Sequence[Publication]],
    ) -> tuple[Sequence[Publication], Placement]:
        """Record a board's frame as accepted. Return the readings to store, and a placement.

        The placement classifies the frame as new or repeated. If the frame is repeated, there are
        no readings to store.

        Args:
            identity: board, boot number and frame number.
            digest: identifies the contents of the frame.
            source: name of the port.
            publications_of: creates the readings for a given boot number.

        Raises:
            TooManyStarts: if the board has restarted too often. Nothing is recorded.
        """
        placement = self._boards.place(identity, digest, source)
        publications = publications_of(placement.published_boot) if placement.is_new else ()
        # Nothing after this line can fail, so an accepted frame is always stored.
        self._boards.accept(placement, identity, digest, source)
        return publications, placement

    def durable_without_commit(self) -> asyncio.Future[None] | None:
        """Return a future that is done when the first copy of a repeated frame is durable.

        If the first copy might be in the batch that is still being collected, return None. The
        caller must then wait for this batch to be committed.
        """
        if self._gathered:
            return None
        if self._sealed:
            # The original frame is being committed, or waits for room on the disk.
            return self._sealed[-1].durable
        # The original frame is durable. Only its acknowledgement has not reached the board.
        durable = _new_future()
        durable.set_result(None)
        return durable

    def seal(self) -> Batch:
        """Return the batch that was being collected, and begin a new one.

        Unless the returned batch is empty, it stays in `sealed` until `committed` is called.
        """
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
        """Remove batches that are now durable from `sealed`, and complete their futures.

        `batches` must be the first batches in `sealed`, in the same order.
        """
        for batch in batches:
            self._sealed_bytes -= batch.bytes_count
            batch.durable.set_result(None)
        del self._sealed[: len(batches)]

    def complete_empty(self, batch: Batch) -> None:
        """Complete the future of an empty batch, which needs no commit. Ignore other batches."""
        if batch not in self._sealed and not batch.durable.done():
            batch.durable.set_result(None)


def count_of(batches: Sequence[Batch]) -> int:
    """Return the total number of readings in the batches."""
    return sum(len(each.publications) for each in batches)


def bytes_of(batches: Sequence[Batch]) -> int:
    """Return the total number of bytes of the readings in the batches."""
    return sum(each.bytes_count for each in batches)


def _new_future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()
