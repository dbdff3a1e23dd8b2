"""Handles refusals of a Modbus device: searches for the cause, pauses, and learns limits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.protocols.modbus_answer import Block, blocks_of
from firmware_bridge.protocols.modbus_device import REGISTERS_PER_REQUEST_MAX, Device
from firmware_bridge.protocols.modbus_register import Register

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
    """A search for the registers that make a device refuse the block `whole`.

    The search requests the block in parts. `answered` and `refused` contain the parts that have an
    outcome. `had_no_response` is True if the request for the whole block got no response, and False
    if the device refused it. `wait_seconds` is the pause before the search, or 0 if this is the
    first search for the block.
    """

    whole: Block
    had_no_response: bool = False
    wait_seconds: float = 0.0
    answered: list[Block] = field(default_factory=list)
    refused: dict[Block, str] = field(default_factory=dict)


class Searches:
    """The current searches for one device. Their keys are the parts without an outcome."""

    def __init__(self) -> None:
        self._by_part: dict[Block, Search] = {}

    def __contains__(self, part: Block) -> bool:
        return part in self._by_part

    def clear(self) -> None:
        """Abandon all searches."""
        self._by_part.clear()

    def begin(self, search: Search) -> None:
        """Begin a search for the registers that make the device refuse the block `search.whole`.

        At first, the whole block is the only part of the search. `split` divides a part into
        halves.
        """
        self._by_part[search.whole] = search

    def search_of(self, part: Block) -> Search | None:
        """Return the search that is waiting for the outcome of this part, or None."""
        return self._by_part.get(part)

    def split(self, part: Block) -> tuple[Block, Block]:
        """Replace a part by its two halves. Return the halves, which must be requested next."""
        search = self._by_part.pop(part)
        halves = part.halves()
        self._by_part |= dict.fromkeys(halves, search)
        return halves

    def record(self, part: Block, reason: str | None) -> Search | None:
        """Record the outcome for a part. If this completes its search, return the search.

        `reason` is the reason of the refusal, or None if the device answered. The result is None if
        the search has other parts without an outcome, or if the part belongs to no search.
        """
        search = self._by_part.pop(part, None)
        if search is None:
            return None
        if reason is None:
            search.answered.append(part)
        else:
            search.refused[part] = reason
        return None if self._parts_of(search) else search

    def abandon(self, part: Block) -> list[Block]:
        """Abandon the search that this part belongs to. Return its parts without an outcome."""
        search = self._by_part.get(part)
        parts = [] if search is None else self._parts_of(search)
        for each in parts:
            del self._by_part[each]
        return parts

    def _parts_of(self, search: Search) -> list[Block]:
        return [part for part, each in self._by_part.items() if each is search]


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


class LearnedLimits:
    """Limits on the requests to one device, learned from its refusals.

    The limits are the maximum number of registers in a request, and the registers at which a new
    request must begin. They are tested again after a pause.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._cuts: set[tuple[str, int]] = set()
        self._registers_max: int | None = None
        self._answered_max = 0
        self._rest: Rest | None = None

    def blocks_of(self, registers: Sequence[Register]) -> list[Block]:
        """Divide registers of the device into blocks that the limits allow."""
        given = self._device.registers_per_request or REGISTERS_PER_REQUEST_MAX
        most = min(given, self._registers_max or given)
        return [
            Block(self._device.name, self._device.address, each)
            for each in blocks_of(registers, most, self._cuts)
        ]

    def note_answer(self, block: Block) -> None:
        """Record that the device can answer a request for as many registers as this block has."""
        if not block.is_bits:
            self._answered_max = max(self._answered_max, block.count)

    def learn(self, search: Search, now_seconds: float) -> str:
        """Derive a limit from a search in which the device answered for all parts of a block.

        Return a sentence about the limit for the log.
        """
        whole, most = search.whole, max(each.count for each in search.answered)
        rest = self._rest
        if rest is None or rest.at_seconds <= now_seconds:
            wait = rest_seconds(0.0 if rest is None else rest.wait_seconds)
            self._rest = Rest("", now_seconds + wait, wait)
        device = self._device.name
        if whole.is_bits or whole.count <= self._answered_max:
            self._cuts |= {(each.registers[0].kind, each.first) for each in search.answered}
            return f"{device} refuses {whole.place} as a whole; these registers are polled in parts"
        self._registers_max = max(self._answered_max, most)
        return (
            f"{device} refuses {whole.count} registers in one request; it is asked for at most "
            f"{self._registers_max} (registers_per_request sets this)"
        )

    def forget_if_due(self, now_seconds: float) -> bool:
        """Forget the limits if they must be tested again. Return True if any were forgotten."""
        has_learned = self._registers_max is not None or bool(self._cuts)
        if self._rest is None or self._rest.at_seconds > now_seconds or not has_learned:
            return False
        self._registers_max, self._answered_max = None, 0
        self._cuts.clear()
        return True
