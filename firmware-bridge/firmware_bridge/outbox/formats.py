"""The known formats of the outbox's database, and the conversion of board rows from version 1.

A format is identified by the list of migrations that were applied to the database (`schema.py`).
"""

from firmware_bridge.outbox.board_start import (
    FRAMES_PER_BLOCK,
    FRAMES_REMEMBERED,
    NOT_ACCEPTED,
    UNKNOWN_CONTENTS,
)

MIGRATION_SET = "outbox"
MIGRATIONS_KNOWN = (
    "m001_readings_boards_properties",
    "m002_boards_with_digests",
    "m003_session_without_address",
    "m004_readings_that_are_retained",
    "m005_readings_that_give_way",
    "m006_kinds_of_quantities",
)


def blocks_of_ranges(accepted: str) -> dict[int, bytes]:
    """Convert accepted frame numbers from version 1, such as "1-5,7-9", to blocks of digests.

    Version 1 stored no digests, so each digest is `UNKNOWN_CONTENTS`. Raises `ValueError` if the
    text is not valid.
    """
    texts = [part.partition("-") for part in accepted.split(",")] if accepted else []
    ranges = [(int(first), int(last)) for first, _, last in texts]
    latest = max((last for _, last in ranges), default=0)
    blocks: dict[int, bytearray] = {}
    for first, last in ranges:
        for sequence in range(max(first, latest - FRAMES_REMEMBERED + 1), last + 1):
            block, index = divmod(sequence, FRAMES_PER_BLOCK)
            digests = blocks.setdefault(block, bytearray(NOT_ACCEPTED * FRAMES_PER_BLOCK))
            at = index * len(UNKNOWN_CONTENTS)
            digests[at : at + len(UNKNOWN_CONTENTS)] = UNKNOWN_CONTENTS
    return {block: bytes(digests) for block, digests in blocks.items()}
