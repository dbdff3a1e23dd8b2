"""Polls the devices on a line: sends the poller's requests and reads the responses, one by one.

::

    discard unsolicited bytes -> write the request -> read until the response is complete or times
    out -> a frame: to the intake | refused: counted | damaged: counted, then discard late bytes

Bytes that arrived before a request are therefore never mistaken for the response. A response that
arrives after the timeout is discarded. Each request specifies how long late bytes are discarded.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Protocol

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Refused, Tally, Unread
from firmware_bridge.protocols.interface import PollerSettings, Request
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.serial.answers import Answers
from firmware_bridge.serial.intake import Intake
from firmware_bridge.serial.link import Link
from firmware_bridge.serial.network import ServerClosed
from gateway.process.declarations.serial_line import Line

logger = logging.getLogger(__name__)

# Unsolicited bytes are over when the line has been silent for this time: 19 characters at 9,600
# baud.
QUIET_SECONDS = 0.02
# If the noise on a line does not stop within this time, the request is sent anyway.
NOISE_SECONDS_MAX = 0.2
# Longest delay of bytes in an adapter, in addition to their time on the line. FTDI adapters take up
# to 16 ms. A meter does not answer at the new baud rate earlier than after 200 ms.
ADAPTER_SECONDS = 0.03
_BITS_PER_CHARACTER = 10


class Audience(Protocol):
    """Interface of an observer, which is notified of the requests and responses on a line."""

    def asked(self, request: Request) -> None:
        """Handle a request that has just been written to the line."""

    def received(self, data: bytes) -> None:
        """Handle bytes that were read. They are not necessarily part of a response.

        `data` may be empty.
        """

    def ended(self, outcome: Outcome, request: Request, link: Link) -> None:
        """Handle the outcome of a request. The counters already include this outcome."""

    def learnt(self, text: str) -> None:
        """Handle a message from the poller about a device."""

    async def wait_until_accepted(self) -> None:
        """Wait until the next request may be sent."""


class ToIntake:
    """Observer that passes the responses of a line's devices to the intake of the port.

    Some requests do not name a device. Their outcomes are recorded for the device `own_device`.
    """

    def __init__(self, intake: Intake, own_device: str) -> None:
        self._intake = intake
        self._own_device = own_device
        self._answers = Answers(intake.status)

    def asked(self, request: Request) -> None:
        """Add the request to the recent frames."""
        self._intake.recent.asked(request.data, request.text)

    def received(self, data: bytes) -> None:
        """Count the bytes, and add them to the recent frames."""
        self._intake.status.note_bytes(len(data))
        self._intake.recent.received(data)

    def ended(self, outcome: Outcome, request: Request, link: Link) -> None:
        """Submit a received frame to the intake, and record how the device answered."""
        self._intake.recent.answered(outcome)
        self._answers.note(outcome, request.device or self._own_device, request.text)
        if isinstance(outcome, Frame):
            self._intake.take(outcome, link)

    def learnt(self, text: str) -> None:
        """Log a message from the poller about a device."""
        logger.warning("serial port %s: %s", self._intake.status.name, text)

    async def wait_until_accepted(self) -> None:
        """Wait until the intake accepts more frames."""
        await self._intake.wait_until_accepted()


class Polling:
    """Reader of a port whose devices are polled. It owns the port's poller.

    The counters are in `tally`: `damaged` counts requests without a valid response, `refused`
    counts requests that a device refused, and `foreign` counts received data that does not belong
    to a response (`unasked` or `late`). If the connection has no serial line, `line` is None.
    """

    def __init__(self, settings: PollerSettings, line: Line | None, audience: Audience) -> None:
        self._settings = settings
        self._line = line
        self._audience = audience
        self._poller = settings.poller(line)
        self.tally = Tally()

    def begin_again(self) -> None:
        """Replace the poller after an internal error, but keep the counters and data types."""
        kinds, self._poller = self.kinds, self._settings.poller(self._line)
        self.kinds.remember(kinds.known())

    @property
    def kinds(self) -> Kinds:
        """The data types of the devices' quantities."""
        return self._poller.kinds

    def unread(self) -> Sequence[Unread]:
        """Return the quantities that currently have no value, with the reasons."""
        return self._poller.unread()

    async def run(self, link: Link) -> None:
        """Poll the devices until the port must be opened again.

        The method returns when the next request is due, if the server has closed the connection
        after it answered. Many devices close idle connections, and some close them after each
        answer, so this is not a fault.

        Raises:
            PortLost: if the port is lost.
        """
        self._poller.begin(_now())
        answered = False
        while True:
            step = self._poller.next_step(_now())
            try:
                if isinstance(step, Request):
                    answered = await self._ask(link, step) or answered
                else:
                    await self._pause(step.seconds, link)
            except ServerClosed:
                if answered:
                    return
                raise
            await self._audience.wait_until_accepted()
            # A poller that never pauses must not block the other ports and MQTT.
            await asyncio.sleep(0)

    async def _pause(self, seconds: float, link: Link) -> None:
        """Pause until the next request. Raises ServerClosed after the pause."""
        due = _now() + seconds
        try:
            await self._discard(link, "unasked", seconds=seconds, at_most_seconds=seconds)
        except ServerClosed:
            await asyncio.sleep(due - _now())
            raise

    async def _ask(self, link: Link, request: Request) -> bool:
        """Send a request, and record its outcome. Return True if a device answered."""
        if self._read_pending(link):
            self.tally.foreign["unasked"] += 1
            # More unsolicited bytes may follow, from a driver or from the line.
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
        # A refusal is a response, so no late response can follow.
        if isinstance(outcome, Damage) and request.late_seconds_max:
            late = request.late_seconds_max
            await self._discard(link, "late", seconds=late, at_most_seconds=2 * late)
        return not isinstance(outcome, Damage)

    def _count(self, outcome: Outcome) -> None:
        if isinstance(outcome, Damage):
            self.tally.damaged[outcome.reason] += 1
        elif isinstance(outcome, Refused):
            self.tally.refused[outcome.reason] += 1
        else:
            self.tally.skipped.update(outcome.skipped.values())
            self.tally.skipped.update(self._poller.take_skipped())

    async def _is_written(self, request: Request, link: Link) -> bool:
        """Prepare the line, and write a request to it.

        Return False if the port could not accept all bytes of the request.
        """
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
            # The last byte must leave the adapter at the old baud rate.
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
            # More bytes than a response has may follow it, such as a copy of the response.
            cut = answer[: request.answer_bytes_max]
            outcome = self._poller.read(cut) if data else self._poller.time_out(cut)
            if outcome is not None:
                return outcome
            if len(answer) > request.answer_bytes_max:
                return Damage("overlong")

    async def _discard(
        self, link: Link, reason: str, *, seconds: float, at_most_seconds: float
    ) -> None:
        """Read and discard bytes. Count each read in `tally.foreign` under this reason.

        Args:
            link: the open port.
            reason: `unasked` or `late`.
            seconds: time for which bytes are discarded. If bytes are still arriving at the end of
                this time, the method continues until the line is silent.
            at_most_seconds: time after which the method stops even if the line is not silent.
        """
        begun = _now()
        deadline = begun + seconds
        while _now() < deadline:
            if await self._read_until(deadline, link):
                self.tally.foreign[reason] += 1
                silent = max(deadline, _now() + QUIET_SECONDS)
                deadline = min(silent, begun + at_most_seconds)

    async def _read_until(self, deadline: float, link: Link) -> bytes:
        """Return the next received bytes, or empty bytes if none arrive before the deadline.

        The deadline is a time on the event loop's clock.
        """
        # A line that sends without a pause must not block the other ports and MQTT.
        await asyncio.sleep(0)
        if _now() < deadline:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    return self._counted(await link.read())
        # Bytes that arrived in time while the event loop was busy with other tasks.
        return self._read_pending(link)

    def _read_pending(self, link: Link) -> bytes:
        return self._counted(link.read_pending())

    def _counted(self, data: bytes) -> bytes:
        self._audience.received(data)
        return data


def _now() -> float:
    return asyncio.get_running_loop().time()
