"""Plans the requests to one Modbus device, and finds the registers that it refuses.

If a device refuses a block of registers, one of the registers may not exist, or the block may be
too large for the device. The block is halved until each part gets a response or has only one
quantity::

    refused -> halves -> ... -> some answered, some refused: only the refused ones are unreadable
                             -> all answered: the block was too large, or crossed a boundary
                             -> all refused: the block is unreadable

Unreadable registers and limits found in this way are tested again at long intervals, because the
device may have been starting up, or may get new firmware.
"""

from collections import deque
from typing import Final

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Unread
from firmware_bridge.protocols.modbus_answer import Block, refusal_text
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_refused import (
    SEARCH_SILENT_MAX,
    LearnedLimits,
    Rest,
    Search,
    Searches,
    rest_seconds,
)

FAILING_SECONDS_MAX: Final = 30.0
"""Time after which a device that keeps failing (exceptions 4 to 8), or keeps not responding to one
block only, counts as refusing the block. Most such failures are shorter. During this time, the
whole block is requested in each poll."""
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
    """Plan of the requests to one device.

    Each poll requests all blocks of registers, except blocks that are paused after a refusal.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._limits = LearnedLimits(device)
        self._resting: dict[Block, Rest] = {}
        self._failing_since: dict[Block, float] = {}
        self._blocks = self._divided()
        self._queue: deque[Block] = deque()
        self._searches = Searches()
        self._first = 0
        self._interrupted: Block | None = None
        self._silent_count = 0
        self._polls = 0
        self._answered_poll = 0
        self._busy_count = 0
        self.is_busy = False
        """True if the device responded "busy", which delays the next request."""
        self._skipped: dict[str, str] = {}

    def resume(self, block: Block) -> None:
        """Continue a poll on a new connection. The previous one ended before `block` was answered.

        The block is requested again. If this is the second time, it is left to the next poll,
        because the device may close the connection whenever this block is requested.
        """
        self._silent_count = 0
        if block is self._interrupted:
            self._abandon_search(block)
        else:
            self._queue.appendleft(block)
        self._interrupted = block

    def begin_poll(self, now_seconds: float) -> None:
        """Queue all blocks for a poll. Forget learned limits that have to be tested again.

        If a block got no response in an earlier poll, the queue begins after this block. Otherwise
        the last blocks might never be polled, because missing responses can end a poll early.
        """
        if self._limits.forget_if_due(now_seconds):
            self._blocks = self._divided()
        again = [each for each, rest in self._resting.items() if rest.at_seconds <= now_seconds]
        self._first %= max(1, len(self._blocks))
        blocks = self._blocks[self._first :] + self._blocks[: self._first]
        self._queue.extend([*(self._probe_of(each, now_seconds) for each in blocks), *again])
        self._busy_count = 0
        self._polls += 1

    def next_block(self) -> Block | None:
        """Return the next block to request in this poll, or None if the poll is complete."""
        return self._queue.popleft() if self._queue else None

    def end(self, block: Block, outcome: Outcome, now_seconds: float) -> str:
        """Record the outcome of a request. Return a sentence for the log, or an empty string."""
        self._interrupted = None
        self.is_busy = False
        if isinstance(outcome, Frame):
            self._note_life()
            return self._note_answer(block, outcome, now_seconds)
        reason = outcome.reason
        if reason in _SILENT:
            if not self._note_no_response(block, now_seconds):
                text = self._end_search(block, reason, now_seconds)
                self._note_silent_device(block)
                return text
        elif isinstance(outcome, Damage):
            self._abandon_search(block)
            return ""
        else:
            self._note_life()
            if reason in _BUSY and self._queue_again(block):
                return ""
            is_new = block not in self._searches and block not in self._resting
            if reason in _FAILING and is_new and not self._note_failure(block, now_seconds):
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

    def _divided(self) -> list[Block]:
        self._failing_since.clear()
        resting = {each.name for block in self._resting for each in block.registers}
        registers = [each for each in self._device.registers if each.name not in resting]
        return self._limits.blocks_of(registers)

    @property
    def _is_alive(self) -> bool:
        """True if the device responded in this poll or in the previous one."""
        return self._answered_poll > 0 and self._polls - self._answered_poll <= 1

    def _note_life(self) -> None:
        self._silent_count = 0
        self._answered_poll = self._polls

    def _note_failure(self, block: Block, now_seconds: float) -> bool:
        """Record that a request for a block failed.

        Return True if the block has been failing for `FAILING_SECONDS_MAX` or longer.
        """
        since = self._failing_since.setdefault(block, now_seconds)
        return now_seconds - since >= FAILING_SECONDS_MAX

    def _note_no_response(self, block: Block, now_seconds: float) -> bool:
        """Record that a request for a block got no response.

        Return True if this counts as a refusal, because the device responds to other blocks.
        """
        search = self._searches.search_of(block)
        if search is not None:
            self._silent_count += 1
            return search.had_no_response and self._silent_count <= SEARCH_SILENT_MAX
        if block in self._resting:
            return self._answered_poll == self._polls
        return self._note_failure(block, now_seconds) and self._is_alive

    def _probe_of(self, block: Block, now_seconds: float) -> Block:
        """Return the block to request: `block` itself, or only one of its quantities.

        If the device has been silent for a long time, polls alternate between the whole block and
        single quantities, because the request for one of them might silence the device.
        """
        since = self._failing_since.get(block, now_seconds)
        turn, is_probe = divmod(self._polls // len(self._blocks), 2)
        if self._is_alive or not is_probe or now_seconds - since < FAILING_SECONDS_MAX:
            return block
        return Block(block.device, block.address, [block.registers[turn % len(block.registers)]])

    def _note_silent_device(self, block: Block) -> None:
        self._silent_count += 1
        if self._silent_count >= SILENT_REQUESTS_MAX:
            self._queue.clear()
            self._searches.clear()
        if block in self._blocks:
            self._first = self._blocks.index(block) + 1

    def _queue_again(self, block: Block) -> bool:
        """Queue a block again, because the device is busy.

        If this poll has had too many repeats, do not queue the block, and return False.
        """
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
        self._limits.note_answer(block)
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
            self._searches.begin(Search(block, reason in _SILENT, wait_seconds))
        if len(block.registers) == 1:
            return self._note_part(block, reason, now_seconds)
        self._queue.extend(self._searches.split(block))
        return ""

    def _note_part(self, block: Block, reason: str | None, now_seconds: float) -> str:
        search = self._searches.record(block, reason)
        return "" if search is None else self._conclude(search, now_seconds)

    def _conclude(self, search: Search, now_seconds: float) -> str:
        was_resting = self._resting.pop(search.whole, None) is not None
        if search.had_no_response and self._answered_poll != self._polls and not was_resting:
            return ""  # The device no longer responds at all.
        if not search.refused:
            text = self._limits.learn(search, now_seconds)
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

    def _end_search(self, block: Block, reason: str, now_seconds: float) -> str:
        """End the search that this block is a part of, because the device is silent.

        If the search began because a request got no response, the parts without an outcome count
        as refused for `reason`. Return a sentence for the log, or an empty string.
        """
        search = self._searches.search_of(block)
        parts = self._abandon_search(block)
        if search is None or not search.had_no_response:
            return ""
        search.refused |= dict.fromkeys(parts, reason)
        return self._conclude(search, now_seconds)

    def _abandon_search(self, block: Block) -> list[Block]:
        """Abandon the search that this block is a part of, and remove its parts from the queue.

        Return the parts that have no outcome.
        """
        parts = self._searches.abandon(block)
        self._queue = deque(each for each in self._queue if each not in parts)
        return parts
