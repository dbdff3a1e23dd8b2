"""Outboxes in the formats of earlier versions."""

import pytest
from firmware_bridge.outbox.board_start import (
    DIGEST_BYTES,
    FRAMES_PER_BLOCK,
    FRAMES_REMEMBERED,
    NOT_ACCEPTED,
    UNKNOWN_CONTENTS,
)
from firmware_bridge.outbox.formats import blocks_of_ranges


def accepted(blocks: dict[int, bytes]) -> list[int]:
    return [
        block * FRAMES_PER_BLOCK + index
        for block, digests in sorted(blocks.items())
        for index in range(FRAMES_PER_BLOCK)
        if digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES] != NOT_ACCEPTED
    ]


def test_ranges_of_version_1_become_frames_of_unknown_contents() -> None:
    blocks = blocks_of_ranges("1-3,63-65")
    assert accepted(blocks) == [1, 2, 3, 63, 64, 65]
    assert blocks[0][DIGEST_BYTES : 2 * DIGEST_BYTES] == UNKNOWN_CONTENTS
    assert blocks_of_ranges("") == {}


def test_of_a_long_range_the_latest_frames_are_kept() -> None:
    found = accepted(blocks_of_ranges("1-5000"))
    assert found == list(range(5000 - FRAMES_REMEMBERED + 1, 5001))


@pytest.mark.parametrize("text", ["x", "1", "1-", "1-2,"])
def test_other_text_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        blocks_of_ranges(text)
