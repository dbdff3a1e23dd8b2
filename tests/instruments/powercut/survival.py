"""The random choice of a file's unsynced writes that survive a cut, in pieces."""

import random
from collections import Counter
from dataclasses import dataclass

from tests.instruments.powercut.node import Change, Node, Resize, Write, apply

SECTOR_BYTES = 512
"""The unit that a disk writes completely or not at all."""


@dataclass
class Loss:
    """Counts of unsynced changes at a cut, kept and lost."""

    writes: int = 0
    sectors_kept: int = 0
    sectors_lost: int = 0
    names_kept: int = 0
    names_lost: int = 0


def survivor_of(node: Node, dice: random.Random, loss: Loss) -> Node:
    """Return a file's contents after a cut, and add the counts of its changes to `loss`."""
    contents = bytearray(node.durable)
    changes = [*node.promised, *node.unsynced]
    loss.writes += len(changes)
    sectors = [sector for change in changes for sector in _sectors_of(change)]
    kept = _kept_of(sectors, dice)
    for sector in kept:
        apply(contents, sector)
    if changes and len(contents) < len(node.current) and dice.random() < 0.5:
        apply(contents, Resize(len(node.current)))
    loss.sectors_kept += len(kept)
    loss.sectors_lost += len(sectors) - len(kept)
    return Node(node.mode, node.owner, node.time_ns, contents, bytearray(contents))


def _kept_of(sectors: list[Change], dice: random.Random) -> list[Change]:
    match dice.choice(("nothing", "everything", "beginning", "scattered")):
        case "nothing":
            return []
        case "everything":
            return sectors
        case "beginning":
            return sectors[: dice.randint(0, len(sectors))]
        case _:
            return _scattered(sectors, dice)


def _scattered(sectors: list[Change], dice: random.Random) -> list[Change]:
    """Keep each sector as it was at some time: all of its writes up to a random one, or none."""
    chance = dice.random()
    writes = Counter(map(_place_of, sectors))
    left = {
        place: dice.randint(1, count) if dice.random() < chance else 0
        for place, count in writes.items()
    }
    kept: list[Change] = []
    for sector in sectors:
        left[_place_of(sector)] -= 1
        if left[_place_of(sector)] >= 0:
            kept.append(sector)
    return kept


def _place_of(sector: Change) -> int:
    # A size counts as a sector of its own.
    return -1 if isinstance(sector, Resize) else sector.offset // SECTOR_BYTES


def _sectors_of(change: Change) -> list[Change]:
    """Split a write into the sectors that it touches, each of which may survive or not."""
    if isinstance(change, Resize):
        return [change]
    end = change.offset + len(change.data)
    first = change.offset - change.offset % SECTOR_BYTES
    pieces: list[Change] = []
    for start in range(first, end, SECTOR_BYTES):
        begin = max(start, change.offset)
        until = min(start + SECTOR_BYTES, end)
        piece = change.data[begin - change.offset : until - change.offset]
        pieces.append(Write(begin, piece))
    return pieces
