"""Frames that a test sends in place of a sensor board, and the acknowledgements for them."""

import asyncio

from firmware_bridge.protocols.board_frame import (
    frame_bytes_of,
    read_acknowledgement,
)
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity

from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.terminal import Terminal


def board_frame(sequence: int, value: float = 21.5, boot: int = 1) -> bytes:
    return frame_bytes_of(
        BoardIdentity(42, boot, sequence), [Measurement("temperature", value, "Cel")]
    )


async def acknowledgements(terminal: Terminal, count: int) -> list[int]:
    found: list[int] = []
    part = b""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while len(found) < count:
            *frames, part = (part + await terminal.read()).split(b"\x00")
            found += [read_acknowledgement(frame).sequence for frame in frames if frame]
    return found
