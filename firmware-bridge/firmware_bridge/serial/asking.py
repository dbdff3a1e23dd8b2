"""Search for a meter that has to be asked (D0, M-Bus), on a port where nothing is received.

Both requests are harmless to a device that does not know them, but something is sent: a person has
to ask for that.
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

# Every meter answers this primary address: it is for lines with one meter.
_ANY_ADDRESS = 254


async def ask(settings: PortSettings) -> AsyncGenerator[tuple[Line, str, Guess | None], None]:
    """Ask with each protocol once: yield its line and name, and what answered.

    Raises:
        PortLost: the port is not there, or in use.
    """
    asked: tuple[tuple[str, PollerSettings], ...] = (
        ("d0", D0()),
        ("mbus", MBus(meters=(MBusMeter(name="meter", address=_ANY_ADDRESS),))),
    )
    for framing, protocol in asked:
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
    """The first request has its outcome."""


class _FirstOutcome:
    """An audience that leaves after one conversation."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None

    def asked(self, request: Request) -> None:
        """Take no note of it."""

    def received(self, data: bytes) -> None:
        """Take no note of it."""

    def ended(self, outcome: Outcome, request: Request, link: Link) -> None:
        """Keep the outcome."""
        self.outcome = outcome

    def learnt(self, text: str) -> None:
        """Take no note of it."""

    async def wait_until_taken(self) -> None:
        """End the conversation once there is an outcome."""
        if self.outcome is not None:
            raise _Answered


async def _first_outcome(link: Link, protocol: PollerSettings, line: Line) -> Outcome | None:
    audience = _FirstOutcome()
    with contextlib.suppress(_Answered):
        await Polling(protocol, line, audience).run(link)
    return audience.outcome
