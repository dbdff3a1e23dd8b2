"""State of refused register blocks: the search for the cause, and the pause before a retry."""

from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.protocols.modbus_answer import Block

REFUSED_AGAIN_SECONDS_MIN: Final = 60.0
"""Wait before the first retry of a refused block. A device needs less time than this to start."""
REFUSED_AGAIN_SECONDS_MAX: Final = 3600.0
"""Maximum wait before a retry. The wait doubles with each refusal, up to one needless request per
hour."""
SEARCH_SILENT_MAX: Final = 8
"""Maximum number of consecutive requests without a response, during a search for the registers
that cause the silence. Finding one of 64 registers takes 7 requests."""


@dataclass(slots=True)
class Search:
    """A search for the registers that make a device refuse a block.

    The block is requested in parts. `open_count` is the number of parts that have no outcome yet.
    If the search is a retry, `wait_seconds` is the pause before the search, otherwise it is 0.
    `is_for_silence` is True if the device did not respond to the request for the whole block, and
    False if the device refused the request.
    """

    whole: Block
    is_for_silence: bool = False
    wait_seconds: float = 0.0
    open_count: int = 1
    answered: list[Block] = field(default_factory=list)
    refused: dict[Block, str] = field(default_factory=dict)


@dataclass(slots=True)
class Rest:
    """The pause after a refusal. The refused block is not requested again before `at_seconds`.

    `wait_seconds` is the full length of the pause.
    """

    reason: str
    at_seconds: float
    wait_seconds: float


def rest_seconds(before_seconds: float) -> float:
    """Return the length of the next pause for a refused block.

    `before_seconds` is the length of the block's previous pause, or 0 if there was none.
    """
    return min(max(2 * before_seconds, REFUSED_AGAIN_SECONDS_MIN), REFUSED_AGAIN_SECONDS_MAX)
