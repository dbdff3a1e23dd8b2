"""Requests for one Modbus device, and what its refusals reveal about its registers.

If a device refuses a block of registers, one of the registers may not exist, or the block may be
too large for the device. The block is halved until each part gets a response or has only one
quantity:

::

    refused -> halves -> ... -> some answered, some refused: only the refused ones are unreadable
                             -> all answered: the block was too large, or crossed a boundary
                             -> all refused: the block is unreadable

Unreadable registers and limits found in this way are tested again at long intervals, because the
device may have been starting up, or may get new firmware.
"""

from collections import deque
from typing import Final

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Unread
from firmware_bridge.protocols.modbus_answer import Block, blocks_of, refusal_text
from firmware_bridge.protocols.modbus_device import REGISTERS_PER_REQUEST_MAX, Device
from firmware_bridge.protocols.modbus_refused import SEARCH_SILENT_MAX, Rest, Search, rest_seconds

FAILING_SECONDS_MAX: Final = 30.0
"""Time after which a device that keeps failing (exceptions 4 to 8), or keeps not responding to one
block only, counts as refusing the block. Most such failures are shorter. Until then, the whole
block is requested in each poll."""
BUSY_REPEATS_MAX: Final = 3
"""Maximum number of requests repeated per poll because the device was busy."""
BUSY_SECONDS: Final = 0.2
"""Pause before a request to a busy device is repeated."""
SILENT_REQUESTS_MAX: Final = 2
"""Number of consecutive requests without a response that end a poll. Each of them delays other
devices by twice the answer timeout. Later polls of a silent device take one request each."""

_BUSY: Final = frozenset({"exception_5", "exception_6"})
_FAILING: Final = frozenset({"exception_4", "exception_7", "exception_8"}) | _BUSY
# A gateway responds with exception 10 or 11 for a silent device.
_SILENT: Final = frozenset({"no_answer", "exception_10", "exception_11"})


class Plan:
    """The requests for one device. Each poll requests each block of registers once."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._cuts: set[tuple[str, int]] = set()
        self._learnt_max: int | None = None
        self._answered_max = 0
        self._limits_rest: Rest | None = None
        self._resting: dict[Block, Rest] = {}
        self._failing_since: dict[Block, float] = {}
        self._blocks = self._divided()
        self._queue: deque[Block] = deque()
        self._searches: dict[Block, Search] = {}
        self._first = 0
        self._silent_count = 0
        self._polls = 0
        self._answered_poll = 0
        self._busy_count = 0
        self.is_busy = False
        """True if the device responded "busy", which delays the next request."""
        self._skipped: dict[str, str] = {}

    def begin(self) -> None:
        """Forget an unfinished poll. Knowledge about the device's registers is kept."""
        self._queue.clear()
        self._searches.clear()
        self._silent_count = 0

    def begin_poll(self, now_seconds: float) -> None:
        """Queue all blocks, starting after the block that most recently got no response."""
        rest = self._limits_rest
        if rest is not None and rest.at_seconds <= now_seconds and self._has_learnt:
            self._learnt_max, self._answered_max = None, 0
            self._cuts.clear()
            self._blocks = self._divided()
        again = [each for each, rest in self._resting.items() if rest.at_seconds <= now_seconds]
        self._first %= max(1, len(self._blocks))
        blocks = self._blocks[self._first :] + self._blocks[: self._first]
        self._queue.extend([*(self._probe_of(each, now_seconds) for each in blocks), *again])
        self._busy_count = 0
        self._polls += 1

    def next_block(self) -> Block | None:
        """Return the next block to request, or None if the poll is complete."""
        return self._queue.popleft() if self._queue else None

    def end(self, block: Block, outcome: Outcome, now_seconds: float) -> str:
        """Record the outcome of a request. Return a sentence for the log, or an empty string."""
        self.is_busy = False
        if isinstance(outcome, Frame):
            self._note_life()
            return self._note_answer(block, outcome, now_seconds)
        reason = outcome.reason
        if reason in _SILENT:
            if not self._is_silent_to(block, now_seconds):
                learnt = self._end_search_of(block, reason, now_seconds)
                self._note_silence(block)
                return learnt
        elif isinstance(outcome, Damage):
            self._abandon_search_of(block)
            return ""
        else:
            self._note_life()
            if reason in _BUSY and self._repeats(block):
                return ""
            is_new = block not in self._searches and block not in self._resting
            if reason in _FAILING and is_new and not self._has_failed(block, now_seconds):
                return ""
        return self._note_refusal(block, reason, now_seconds)

    def unread(self) -> list[Unread]:
        """Return the quantities that currently have no value, with the reasons."""
        name = self._device.name
        refused = {
            each.name: rest.reason
            for block, rest in self._resting.items()
            for each in block.registers
        }
        return [
            Unread(name, each.name, each.place, reason)
            for each in self._device.registers
            if (reason := refused.get(each.name) or self._skipped.get(each.name)) is not None
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

    @property
    def _is_alive(self) -> bool:
        """True if the device responded in this poll or in the previous one."""
        return self._answered_poll > 0 and self._polls - self._answered_poll <= 1

    def _note_life(self) -> None:
        self._silent_count = 0
        self._answered_poll = self._polls

    def _has_failed(self, block: Block, now_seconds: float) -> bool:
        """Record a failure of a block. Return True if the block has failed for too long."""
        since = self._failing_since.setdefault(block, now_seconds)
        return now_seconds - since >= FAILING_SECONDS_MAX

    def _is_silent_to(self, block: Block, now_seconds: float) -> bool:
        """Return True if the device responds to other blocks, but not to this one."""
        search = self._searches.get(block)
        if search is not None:
            self._silent_count += 1
            return search.is_for_silence and self._silent_count <= SEARCH_SILENT_MAX
        if block in self._resting:
            return self._answered_poll == self._polls
        return self._has_failed(block, now_seconds) and self._is_alive

    def _probe_of(self, block: Block, now_seconds: float) -> Block:
        """Return the block to request: `block`, or a block with only one of its quantities.

        After a long silence, both are tried alternately, because one quantity might be the cause.
        """
        since = self._failing_since.get(block, now_seconds)
        turn, is_probe = divmod(self._polls // len(self._blocks), 2)
        if self._is_alive or not is_probe or now_seconds - since < FAILING_SECONDS_MAX:
            return block
        return Block(block.device, block.address, [block.registers[turn % len(block.registers)]])

    def _note_silence(self, block: Block) -> None:
        self._silent_count += 1
        if self._silent_count >= SILENT_REQUESTS_MAX:
            self._queue.clear()
            self._searches.clear()
        if block in self._blocks:
            self._first = self._blocks.index(block) + 1

    def _repeats(self, block: Block) -> bool:
        """Queue a block again because the device is busy. Return False after too many repeats."""
        self.is_busy = self._busy_count < BUSY_REPEATS_MAX
        if self.is_busy:
            self._busy_count += 1
            self._queue.appendleft(block)
        return self.is_busy

    def _note_answer(self, block: Block, frame: Frame, now_seconds: float) -> str:
        for each in block.registers:
            self._skipped.pop(each.name, None)
        self._skipped.update(frame.skipped)
        self._failing_since.pop(block, None)
        if not block.is_bits:
            self._answered_max = max(self._answered_max, block.count)
        if self._resting.pop(block, None) is not None:
            self._blocks = self._divided()
            return f"{block.device} answers for {block.place} again"
        return self._note_part(block, None, now_seconds)

    def _note_refusal(self, block: Block, reason: str, now_seconds: float) -> str:
        for each in block.registers:
            self._skipped.pop(each.name, None)
        rest = self._resting.get(block)
        if block not in self._searches:
            wait_seconds = 0.0 if rest is None else rest.wait_seconds
            self._searches[block] = Search(block, reason in _SILENT, wait_seconds)
        if len(block.registers) == 1:
            return self._note_part(block, reason, now_seconds)
        search = self._searches.pop(block)
        search.open_count += 1
        for half in block.halves():
            self._searches[half] = search
            self._queue.append(half)
        return ""

    def _note_part(self, block: Block, reason: str | None, now_seconds: float) -> str:
        """Record the outcome for a part of a block. Return a sentence for the log, or ""."""
        search = self._searches.pop(block, None)
        if search is None:
            return ""
        search.open_count -= 1
        if reason is None:
            search.answered.append(block)
        else:
            search.refused[block] = reason
        return "" if search.open_count else self._conclude(search, now_seconds)

    def _conclude(self, search: Search, now_seconds: float) -> str:
        was_resting = self._resting.pop(search.whole, None) is not None
        if search.is_for_silence and self._answered_poll != self._polls and not was_resting:
            return ""  # The device no longer responds at all.
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
        wait = rest_seconds(waited_seconds)
        for block, reason in refused.items():
            self._resting[block] = Rest(reason, now_seconds + wait, wait)
        places = ", ".join(each.place for each in refused)
        reason = next(iter(refused.values()))
        what = f"does not answer for {places}"
        if reason != "no_answer":
            what = f"refuses {places}: {refusal_text(reason)}"
        return (
            f"{self._device.name} {what}; asked for again in {wait:g} s, the other registers are "
            "read; check at, kind and type"
        )

    def _learn_limit(self, search: Search, now_seconds: float) -> str:
        whole, most = search.whole, max(each.count for each in search.answered)
        rest = self._limits_rest
        if rest is None or rest.at_seconds <= now_seconds:
            wait = rest_seconds(0.0 if rest is None else rest.wait_seconds)
            self._limits_rest = Rest("", now_seconds + wait, wait)
        device = self._device.name
        if whole.is_bits or whole.count <= self._answered_max:
            self._cuts |= {(each.registers[0].kind, each.first) for each in search.answered}
            return f"{device} refuses {whole.place} as a whole; these registers are polled in parts"
        self._learnt_max = max(self._answered_max, most)
        return (
            f"{device} refuses {whole.count} registers in one request; it is asked for at most "
            f"{self._learnt_max} (registers_per_request sets this)"
        )

    def _end_search_of(self, block: Block, reason: str, now_seconds: float) -> str:
        """End the search that requested `block`. Return a sentence for the log, or ""."""
        search = self._searches.get(block)
        parts = self._abandon_search_of(block)
        if search is None or not search.is_for_silence:
            return ""
        search.refused |= dict.fromkeys(parts, reason)
        return self._conclude(search, now_seconds)

    def _abandon_search_of(self, block: Block) -> list[Block]:
        """Abandon the search that requested `block`. Return the parts that have no outcome yet."""
        search = self._searches.get(block)
        parts = (
            []
            if search is None
            else [part for part, each in self._searches.items() if each is search]
        )
        self._queue = deque(each for each in self._queue if each not in parts)
        for part in parts:
            del self._searches[part]
        return parts
