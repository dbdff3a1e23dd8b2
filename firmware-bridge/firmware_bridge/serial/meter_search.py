"""Searches for a meter that sends only when it is polled (D0, M-Bus).

If a port receives nothing, the search sends requests to the unknown device. The requests are
harmless to devices that use other protocols. As an additional precaution, the search runs only if a
person starts it.
"""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace

from firmware_bridge.protocols.d0 import D0
from firmware_bridge.protocols.frame import Frame, Outcome
from firmware_bridge.protocols.interface import PollerSettings, Request
from firmware_bridge.protocols.mbus import MBus, MBusMeter
from firmware_bridge.serial.detecting import Guess
from firmware_bridge.serial.link import Link
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.polling import Polling
from firmware_bridge.serial.settings import PortSettings
from gateway.process.declarations.serial_line import Line

# Every meter answers this primary address. It is meant for lines with a single meter.
_ANY_ADDRESS = 254


async def poll_for_meter(
    settings: PortSettings,
) -> AsyncGenerator[tuple[Line, str, Guess | None], None]:
    """Poll a port once with each protocol (D0 and M-Bus), and yield one result per protocol.

    A result has three parts: the line settings, the name of the protocol, and a `Guess`. The guess
    describes the meter that was found, with its settings and its first frame. It is None if no
    valid response was received.

    Raises:
        PortLost: if the port does not exist or is in use.
    """
    polled: tuple[tuple[str, PollerSettings], ...] = (
        ("d0", D0()),
        ("mbus", MBus(meters=(MBusMeter(name="meter", address=_ANY_ADDRESS),))),
    )
    for framing, protocol in polled:
        line = protocol.default_line
        link = await open_port(replace(settings, line=line))
        try:
            outcome = await _first_outcome(link, protocol, line)
        finally:
            link.close()
        found = outcome if isinstance(outcome, Frame) else None
        yield line, framing, None if found is None else _guess_of(line, framing, found)


def _guess_of(line: Line, framing: str, frame: Frame) -> Guess:
    keys = ""
    if framing == "mbus":
        (found,) = frame.quantities["meter_number"]
        number = str(found.value) if isinstance(found.value, str) else ""
        keys = f'\n[[serial.meters]]\nname = "meter"\nsecondary = "{number}"\n'
    return Guess(line, framing, 1, 0, keys, 1, frame)


class _Answered(Exception):
    """Raised to leave the polling loop after the first request has succeeded or failed."""


class _FirstOutcome:
    """Observer that stores the outcome of the first request, and then stops the polling loop."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None

    def asked(self, request: Request) -> None:
        """Do nothing after a request was sent, because the search does not show its requests."""

    def received(self, data: bytes) -> None:
        """Do nothing with the received bytes, because the search does not show them."""

    def ended(self, outcome: Outcome, request: Request, link: Link) -> None:
        """Store the outcome of the request."""
        self.outcome = outcome

    def learnt(self, text: str) -> None:
        """Ignore a message from the poller about a device."""

    async def wait_until_accepted(self) -> None:
        """Stop the polling loop if there is an outcome, by raising `_Answered`."""
        if self.outcome is not None:
            raise _Answered


async def _first_outcome(link: Link, protocol: PollerSettings, line: Line) -> Outcome | None:
    audience = _FirstOutcome()
    with contextlib.suppress(_Answered):
        await Polling(protocol, line, audience).run(link)
    return audience.outcome
