"""Blocks of registers that a Modbus device refuses: the search for what it refuses, and rests."""

from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.protocols.modbus_answer import Block

REFUSED_AGAIN_SECONDS_MIN: Final = 60.0
"""From a refusal to the next request for the same: a device that starts takes less."""
REFUSED_AGAIN_SECONDS_MAX: Final = 3600.0
"""The same after it has doubled with each refusal: one needless request an hour."""
SEARCH_SILENT_MAX: Final = 8
"""Requests without an answer, one after the other, before a search for the registers to which a
device is silent ends: one of 64 is found with 7."""


@dataclass(slots=True)
class Search:
    """A refused block in parts; `wait_seconds` was the pause before it was asked again, if any.

    `is_for_silence`: the device does not answer for the whole block, in place of refusing it.
    """

    whole: Block
    is_for_silence: bool = False
    wait_seconds: float = 0.0
    open_count: int = 1
    answered: list[Block] = field(default_factory=list)
    refused: dict[Block, str] = field(default_factory=dict)


@dataclass(slots=True)
class Rest:
    """A block that is not asked for until `at_seconds`."""

    reason: str
    at_seconds: float
    wait_seconds: float


def rest_seconds(before_seconds: float) -> float:
    """Return how long a block rests after it has rested for `before_seconds`; 0: not yet."""
    return min(max(2 * before_seconds, REFUSED_AGAIN_SECONDS_MIN), REFUSED_AGAIN_SECONDS_MAX)
