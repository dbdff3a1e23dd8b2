"""Asks the devices of a line: the poller's requests out, its answers in, one at a time.

::

    discard what came unasked -> write the request -> read until the answer is one or its time over
        -> a frame: to the intake | refused: counted
         | damage: counted; then what comes late is discarded

So no byte that was on the line before a request can be in its answer, and an answer that comes
after its time is discarded as long as the request allows for it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Protocol

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Refused, Tally, Unread
from firmware_bridge.protocols.interface import Pause, PollerSettings, Request
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.serial.answers import Answers
from firmware_bridge.serial.intake import Intake
from firmware_bridge.serial.link import Link
from gateway.process.declarations.serial_line import Line

logger = logging.getLogger(__name__)

# What was not asked for is over when the line has been silent for this long: 19 characters at
# 9,600 baud.
QUIET_SECONDS = 0.02
# A line with endless noise is asked anyway.
NOISE_SECONDS_MAX = 0.2
# An adapter has sent what it was given after this and the time on the line: FTDI's passes bytes on
# after 16 ms at the latest. A meter answers at the new rate after 200 ms at the earliest.
ADAPTER_SECONDS = 0.03
_BITS_PER_CHARACTER = 10


class Audience(Protocol):
    """Observer of a conversation: a port's intake, or a person who watches the line."""

    def asked(self, request: Request) -> None:
        """Note a request that was written."""

    def received(self, data: bytes) -> None:
        """Note bytes that were read, of an answer or not; there may be none."""

    def ended(self, outcome: Outcome, request: Request, link: Link) -> None:
        """Take what came of the request; it is counted already."""

    def learnt(self, text: str) -> None:
        """Take what the poller has learnt of a device, in a sentence."""

    async def wait_until_taken(self) -> None:
        """Wait until more may be asked."""


class ToIntake:
    """The audience that is a port's intake."""

    def __init__(self, intake: Intake, own_device: str) -> None:
        self._intake = intake
        self._own_device = own_device
        self._answers = Answers(intake.status)

    def asked(self, request: Request) -> None:
        """Note the request among the recent frames."""
        self._intake.recent.asked(request.data, request.text)

    def received(self, data: bytes) -> None:
        """Count the bytes."""
        self._intake.status.note_bytes(len(data))
        self._intake.recent.received(data)

    def ended(self, outcome: Outcome, request: Request, link: Link) -> None:
        """Submit a frame, and report how the device answered."""
        self._intake.recent.answered(outcome)
        self._answers.note(outcome, request.device or self._own_device, request.text)
        if isinstance(outcome, Frame):
            self._intake.take(outcome, link)

    def learnt(self, text: str) -> None:
        """Log it."""
        logger.warning("serial port %s: %s", self._intake.status.name, text)

    async def wait_until_taken(self) -> None:
        """Wait for the outbox."""
        await self._intake.wait_until_taken()


class Polling:
    """One port's poller at work.

    `tally.damaged` counts requests without a sound answer, by reason, and `tally.refused` those
    that a device refused; `tally.foreign` counts reads of bytes that belong to no answer: `unasked`
    and `late`. `line` is None on a connection that is no serial line.
    """

    def __init__(self, settings: PollerSettings, line: Line | None, audience: Audience) -> None:
        self._settings = settings
        self._line = line
        self._audience = audience
        self._poller = settings.poller(line)
        self.tally = Tally()

    def begin_again(self) -> None:
        """Replace the poller after an error in it. Counters and kinds are kept."""
        kinds, self._poller = self.kinds, self._settings.poller(self._line)
        self.kinds.remember(kinds.known())

    @property
    def kinds(self) -> Kinds:
        """The kinds of the devices' quantities."""
        return self._poller.kinds

    def unread(self) -> Sequence[Unread]:
        """Return the quantities that have no value now, and why."""
        return self._poller.unread()

    async def run(self, link: Link) -> None:
        """Ask until the port is lost.

        Raises:
            PortLost: the port is gone.
        """
        self._poller.begin(_now())
        while True:
            step = self._poller.next_step(_now())
            if isinstance(step, Pause):
                pause = step.seconds
                await self._discard(link, "unasked", seconds=pause, at_most_seconds=pause)
            else:
                await self._ask(link, step)
            await self._audience.wait_until_taken()
            # A poller whose pauses are none must not keep the others and MQTT from being served.
            await asyncio.sleep(0)

    async def _ask(self, link: Link, request: Request) -> None:
        if self._read_pending(link):
            self.tally.foreign["unasked"] += 1
            # More of it may be on its way, in a driver or on the line.
            await self._discard(
                link, "unasked", seconds=QUIET_SECONDS, at_most_seconds=NOISE_SECONDS_MAX
            )
        outcome: Outcome = Damage("unsent")
        while await self._is_written(request, link):
            self._audience.asked(request)
            found = await self._answer_to(request, link)
            if not isinstance(found, Request):
                outcome = found
                break
            request = found
        self._count(outcome)
        self._audience.ended(outcome, request, link)
        learnt = self._poller.end(outcome, _now())
        if learnt:
            self._audience.learnt(learnt)
        # A refusal is an answer: nothing can be late.
        if isinstance(outcome, Damage) and request.late_seconds_max:
            late = request.late_seconds_max
            await self._discard(link, "late", seconds=late, at_most_seconds=2 * late)

    def _count(self, outcome: Outcome) -> None:
        if isinstance(outcome, Damage):
            self.tally.damaged[outcome.reason] += 1
        elif isinstance(outcome, Refused):
            self.tally.refused[outcome.reason] += 1
        else:
            self.tally.left_out.update(outcome.left_out.values())
            self.tally.left_out.update(self._poller.take_left_out())

    async def _is_written(self, request: Request, link: Link) -> bool:
        """Prepare and write a request. Return False if the port does not accept it."""
        if request.rates is not None:
            link.set_baud_rate(request.rates[0])
        before = request.before
        if before is not None:
            if before.data and not link.write(before.data):
                return False
            await asyncio.sleep(before.seconds)
            if before.data:
                self._read_pending(link)  # The echo of an optical head.
        if not link.write(request.data):
            return False
        if request.rates is not None and request.rates[1] != request.rates[0]:
            # The last byte has to leave the adapter at the old rate.
            on_line = len(request.data) * _BITS_PER_CHARACTER / request.rates[0]
            await asyncio.sleep(on_line + ADAPTER_SECONDS)
            link.set_baud_rate(request.rates[1])
        return True

    async def _answer_to(self, request: Request, link: Link) -> Outcome | Request:
        answer = b""
        deadline = _now() + request.answer_seconds_max
        while True:
            silent = request.silent_seconds_max
            until = deadline if silent is None else min(deadline, _now() + silent)
            data = await self._read_until(until, link)
            answer += data
            if len(answer) > request.answer_bytes_max:
                return Damage("overlong")
            outcome = self._poller.read(answer) if data else self._poller.time_out(answer)
            if outcome is not None:
                return outcome

    async def _discard(
        self, link: Link, what: str, *, seconds: float, at_most_seconds: float
    ) -> None:
        """Discard what comes for so long, and then until the line is silent."""
        begun = _now()
        deadline = begun + seconds
        while _now() < deadline:
            if await self._read_until(deadline, link):
                self.tally.foreign[what] += 1
                silent = max(deadline, _now() + QUIET_SECONDS)
                deadline = min(silent, begun + at_most_seconds)

    async def _read_until(self, deadline: float, link: Link) -> bytes:
        """Read the next bytes; none where none came by the deadline, on the event loop's clock."""
        # A line that always has something must not keep the others and MQTT from being served.
        await asyncio.sleep(0)
        if _now() < deadline:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    return self._counted(await link.read())
        # What came in time, while the event loop was busy with something else.
        return self._read_pending(link)

    def _read_pending(self, link: Link) -> bytes:
        return self._counted(link.read_pending())

    def _counted(self, data: bytes) -> bytes:
        self._audience.received(data)
        return data


def _now() -> float:
    return asyncio.get_running_loop().time()
