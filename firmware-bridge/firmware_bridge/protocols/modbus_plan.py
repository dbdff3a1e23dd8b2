"""The requests for one Modbus device, and what its refusals teach.

A device that refuses a block of registers may not have one of them, or may not give so many at
once. The block is halved until each part is answered or is one quantity:

::

    refused -> halves -> ... -> some answered, some refused: those are unreadable, the rest is fine
                             -> all answered: the block was too large, or crossed a border
                             -> all refused: the block is unreadable

Unreadable registers and limits found so are asked again rarely, because a device may have been
starting, or be given other firmware.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Refused, Unread
from firmware_bridge.protocols.modbus_answer import Block, blocks_of, refusal_text
from firmware_bridge.protocols.modbus_device import REGISTERS_PER_REQUEST_MAX, Device

REFUSED_AGAIN_SECONDS_MIN: Final = 60.0
"""From a refusal to the next request for the same: a device that starts takes less."""
REFUSED_AGAIN_SECONDS_MAX: Final = 3600.0
"""The same after it has doubled with each refusal: one needless request an hour."""
FAILING_SECONDS_MAX: Final = 30.0
"""A device that answers for so long that it has failed (exceptions 4, 7 and 8) refuses: until then
the whole block is asked for with each poll, since such a failure is mostly over soon."""
BUSY_REPEATS_MAX: Final = 3
"""Requests that follow one that a device was too busy for, before the next of its polls."""
BUSY_SECONDS: Final = 0.2
"""Pause before such a request."""
SILENT_REQUESTS_MAX: Final = 2
"""Requests without an answer, one after the other, after which a device is not asked until its next
poll: each costs the other devices twice the answer timeout. A device that is off costs one."""

_BUSY: Final = frozenset({"exception_5", "exception_6"})
# No part of the block would be answered otherwise.
_NOT_DIVISIBLE: Final = frozenset({"exception_1"})
_FAILING: Final = frozenset({"exception_4", "exception_7", "exception_8"})
# A gateway's answer in place of a device that is silent.
_UNREACHABLE: Final = frozenset({"exception_10", "exception_11"})


@dataclass(slots=True)
class _Search:
    """A refused block in parts; `wait_seconds` was the pause before it was asked again, if any."""

    whole: Block
    wait_seconds: float = 0.0
    open_count: int = 1
    answered: list[Block] = field(default_factory=list)
    refused: dict[Block, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Rest:
    """A block that is not asked for until `at_seconds`."""

    reason: str
    at_seconds: float
    wait_seconds: float


class Plan:
    """Blocks of one device: in a poll each is asked for once, in parts after a refusal."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._cuts: set[tuple[str, int]] = set()
        self._learnt_max: int | None = None
        self._answered_max = 0
        self._limits_rest: _Rest | None = None
        self._resting: dict[Block, _Rest] = {}
        self._failing_since: dict[Block, float] = {}
        self._blocks = self._divided()
        self._queue: deque[Block] = deque()
        self._searches: dict[Block, _Search] = {}
        self._first = 0
        self._silent_count = 0
        self._busy_count = 0
        self.is_busy = False
        """True after the device answered "busy": the next request waits."""
        self._left_out: dict[str, str] = {}

    def begin(self) -> None:
        """Forget a poll that was under way; what was learnt stays."""
        self._queue.clear()
        self._searches.clear()
        self._silent_count = 0

    def begin_poll(self, now_seconds: float) -> None:
        """Queue the device's blocks, beginning after the one that was silent last."""
        rest = self._limits_rest
        if rest is not None and rest.at_seconds <= now_seconds and self._has_learnt:
            self._learnt_max, self._answered_max = None, 0
            self._cuts.clear()
            self._blocks = self._divided()
        again = [each for each, rest in self._resting.items() if rest.at_seconds <= now_seconds]
        self._first %= max(1, len(self._blocks))
        self._queue.extend(self._blocks[self._first :] + self._blocks[: self._first] + again)
        self._busy_count = 0

    def next_block(self) -> Block | None:
        """Return the block to ask for now; None: the poll is complete."""
        return self._queue.popleft() if self._queue else None

    def end(self, block: Block, outcome: Outcome, now_seconds: float) -> str:
        """Take the outcome of a request; return what was learnt from it in a sentence, or ""."""
        self.is_busy = False
        if isinstance(outcome, Damage):
            self._abandon_search_of(block)
            if outcome.reason == "no_answer":
                self._note_silence(block)
            return ""
        if isinstance(outcome, Refused) and outcome.reason in _UNREACHABLE:
            self._abandon_search_of(block)
            self._note_silence(block)
            return ""
        self._silent_count = 0
        if isinstance(outcome, Frame):
            return self._note_answer(block, outcome, now_seconds)
        if outcome.reason in _BUSY:
            self._note_busy(block)
            return ""
        if outcome.reason in _FAILING and block not in self._searches:
            since = self._failing_since.setdefault(block, now_seconds)
            if now_seconds - since < FAILING_SECONDS_MAX and block not in self._resting:
                return ""
        return self._note_refusal(block, outcome.reason, now_seconds)

    def unread(self) -> list[Unread]:
        """Return the quantities that have no value now, and why."""
        name = self._device.name
        refused = {
            each.name: rest.reason
            for block, rest in self._resting.items()
            for each in block.registers
        }
        return [
            Unread(name, each.name, each.place, reason)
            for each in self._device.registers
            if (reason := refused.get(each.name) or self._left_out.get(each.name)) is not None
        ]

    @property
    def _has_learnt(self) -> bool:
        return self._learnt_max is not None or bool(self._cuts)

    def _divided(self) -> list[Block]:
        self._failing_since.clear()
        resting = {each.name for block in self._resting for each in block.registers}
        registers = [each for each in self._device.registers if each.name not in resting]
        given = self._device.registers_per_request or REGISTERS_PER_REQUEST_MAX
        most = min(given, self._learnt_max or given)
        return [
            Block(self._device.name, self._device.address, each)
            for each in blocks_of(registers, most, self._cuts)
        ]

    def _note_silence(self, block: Block) -> None:
        self._silent_count += 1
        if self._silent_count >= SILENT_REQUESTS_MAX:
            self._queue.clear()
            self._searches.clear()
        if block in self._blocks:
            self._first = self._blocks.index(block) + 1

    def _note_busy(self, block: Block) -> None:
        if self._busy_count < BUSY_REPEATS_MAX:
            self._busy_count += 1
            self.is_busy = True
            self._queue.appendleft(block)
        else:
            self._abandon_search_of(block)

    def _note_answer(self, block: Block, frame: Frame, now_seconds: float) -> str:
        for each in block.registers:
            self._left_out.pop(each.name, None)
        self._left_out.update(frame.left_out)
        self._failing_since.pop(block, None)
        if not block.is_bits:
            self._answered_max = max(self._answered_max, block.count)
        if self._resting.pop(block, None) is not None:
            self._blocks = self._divided()
            return f"{block.device} gives {block.place} again"
        return self._note_part(block, None, now_seconds)

    def _note_refusal(self, block: Block, reason: str, now_seconds: float) -> str:
        for each in block.registers:
            self._left_out.pop(each.name, None)
        rest = self._resting.get(block)
        if block not in self._searches:
            self._searches[block] = _Search(block, 0.0 if rest is None else rest.wait_seconds)
        if len(block.registers) == 1 or reason in _NOT_DIVISIBLE:
            return self._note_part(block, reason, now_seconds)
        search = self._searches.pop(block)
        search.open_count += 1
        for half in block.halves():
            self._searches[half] = search
            self._queue.append(half)
        return ""

    def _note_part(self, block: Block, reason: str | None, now_seconds: float) -> str:
        """Note the outcome of a part of a refused block, None for an answer."""
        search = self._searches.pop(block, None)
        if search is None:
            return ""
        search.open_count -= 1
        if reason is None:
            search.answered.append(block)
        else:
            search.refused[block] = reason
        return "" if search.open_count else self._conclude(search, now_seconds)

    def _conclude(self, search: _Search, now_seconds: float) -> str:
        was_resting = self._resting.pop(search.whole, None) is not None
        if not search.refused:
            text = self._learn_limit(search, now_seconds)
        else:
            refused = search.refused
            if not search.answered:
                refused = {search.whole: next(iter(refused.values()))}
            text = self._rest(refused, search.wait_seconds, now_seconds)
            if was_resting and not search.answered:
                text = ""
        self._blocks = self._divided()
        return text

    def _rest(self, refused: dict[Block, str], waited_seconds: float, now_seconds: float) -> str:
        wait = _doubled(waited_seconds)
        for block, reason in refused.items():
            self._resting[block] = _Rest(reason, now_seconds + wait, wait)
        places = ", ".join(each.place for each in refused)
        reason = refusal_text(next(iter(refused.values())))
        return (
            f"{self._device.name} refuses {places}: {reason}; asked for again in {wait:g} s, the "
            "other registers are read; check at, kind and type"
        )

    def _learn_limit(self, search: _Search, now_seconds: float) -> str:
        whole, most = search.whole, max(each.count for each in search.answered)
        rest = self._limits_rest
        if rest is None or rest.at_seconds <= now_seconds:
            wait = _doubled(0.0 if rest is None else rest.wait_seconds)
            self._limits_rest = _Rest("", now_seconds + wait, wait)
        device = self._device.name
        if whole.is_bits or whole.count <= self._answered_max:
            self._cuts |= {(each.registers[0].kind, each.first) for each in search.answered}
            return f"{device} refuses {whole.place} as a whole; it is asked for in parts"
        self._learnt_max = max(self._answered_max, most)
        return (
            f"{device} refuses {whole.count} registers in one request; it is asked for at most "
            f"{self._learnt_max} (registers_per_request sets this)"
        )

    def _abandon_search_of(self, block: Block) -> None:
        """Give up a search in which a part has no answer: the next poll begins with the whole."""
        search = self._searches.get(block)
        if search is None:
            return
        parts = {part for part, each in self._searches.items() if each is search}
        self._queue = deque(each for each in self._queue if each not in parts)
        for part in parts:
            del self._searches[part]


def _doubled(seconds: float) -> float:
    return min(max(2 * seconds, REFUSED_AGAIN_SECONDS_MIN), REFUSED_AGAIN_SECONDS_MAX)
