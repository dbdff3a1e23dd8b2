"""Watches an open port for `oncegate serial sniff`: listens to the port or polls its devices."""

import asyncio
import time
from collections.abc import Callable, Mapping

from firmware_bridge.protocols.frame import Frame, Outcome
from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings, Request
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.serial.link import Link
from firmware_bridge.serial.overhearing import Overhearing
from firmware_bridge.serial.polling import Polling
from firmware_bridge.serial.recording import Chunk
from firmware_bridge.serial.watching import Reading, chunks_of_port, text_of

from gateway.cli.serial.ports import Watched
from gateway.cli.serial.tables import rows_of, rows_with

SILENCE_SECONDS = 1.0
"""Seconds of silence after which an incomplete message counts as cut off."""

Print = Callable[[str], None]


class Sniffer:
    """Monitor of a serial port. It prints what the port receives.

    When the method `run` returns, `summary` is the last line to print, or None.
    """

    def __init__(self, watched: Watched, seconds_max: float | None, print_row: Print) -> None:
        self._watched = watched
        self._seconds_max = seconds_max
        self._print = print_row
        self.summary: str | None = None

    async def run(self, link: Link) -> None:
        """Watch the port until the time limit is reached. Without a limit, watch until cancelled.

        Raises PortLost if the port fails.
        """
        protocol, units = self._watched.protocol, self._watched.port.units
        if self._watched.overhears:
            named = protocol if isinstance(protocol, Modbus) else None
            await self._listen(link, Overhearing(named, units))
        elif isinstance(protocol, PollerSettings) and protocol.is_polled:
            await self._ask(link, protocol)
        elif isinstance(protocol, DecoderSettings):
            await self._listen(link, Reading(protocol, units))
        else:
            await self._listen(link, None)

    async def _listen(self, link: Link, reading: Reading | Overhearing | None) -> None:
        read = (lambda _: []) if reading is None else reading.read
        try:
            async for chunk in chunks_of_port(
                link, self._seconds_max, silence_seconds=SILENCE_SECONDS
            ):
                for row in rows_of(chunk, read):
                    self._print(row)
                if not chunk.data and reading is not None:
                    for text in reading.read_silence():
                        for row in rows_with(chunk, text):
                            self._print(row)
        finally:
            if reading is not None:
                self.summary = f"{reading.frames} frames, {reading.damaged} damaged"
                if isinstance(reading, Overhearing) and not reading.frames:
                    self.summary += (
                        "; is --line correct, and does another program poll the devices?"
                    )

    async def _ask(self, link: Link, protocol: PollerSettings) -> None:
        shown = PollPrinter(self._print, self._watched.port.units)
        polling = Polling(protocol, self._watched.port.polled_line, shown)
        try:
            async with asyncio.timeout(self._seconds_max):
                await polling.run(link)
        except TimeoutError:
            pass
        finally:
            self.summary = f"{shown.frames} frames, {polling.tally.damaged.total()} damaged"


class PollPrinter:
    """Printer of a polled port's traffic: requests, and responses with their decoded values."""

    def __init__(self, print_row: Print, units: Mapping[str, str]) -> None:
        self._print = print_row
        self._units = units
        self._begun = time.monotonic()
        self._answer: bytes | None = None
        self.frames = 0

    def asked(self, request: Request) -> None:
        """Print a request that has just been sent.

        If bytes of an earlier response are still buffered, print these bytes first.
        """
        if self._answer:
            self._show(self._answer, "<")
        self._show(request.data, f"> {request.text}")
        self._answer = b""

    def received(self, data: bytes) -> None:
        """Buffer received bytes until the response is complete.

        If no response is expected, print the bytes immediately.
        """
        if self._answer is not None:
            self._answer += data
        elif data:
            self._show(data, "!! not requested, or late")

    def ended(self, outcome: Outcome, request: Request, link: Link) -> None:
        """Print the response to a request, with the decoded values or the reason for a failure."""
        if isinstance(outcome, Frame):
            self.frames += 1
            text = text_of(outcome, self._units)
        else:
            text = f"!! {outcome.reason}"
        self._show(self._answer or b"", f"< {text}")
        self._answer = None

    def learnt(self, text: str) -> None:
        """Print a note from the poller about a device, for example about a limit of the device."""
        self._show(b"", f"-- {text}")

    async def wait_until_accepted(self) -> None:
        """Return immediately, because `oncegate serial sniff` does not store readings."""

    def _show(self, data: bytes, text: str) -> None:
        for row in rows_with(Chunk(time.monotonic() - self._begun, data), text):
            self._print(row)
