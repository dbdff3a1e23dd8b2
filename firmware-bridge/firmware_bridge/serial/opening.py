"""Opens the device file or network address in a port's settings."""

import asyncio
import contextlib

from firmware_bridge.serial.identity import path_of
from firmware_bridge.serial.link import Link, PortLost, SerialLink
from firmware_bridge.serial.network import open_address
from firmware_bridge.serial.settings import PortSettings


async def open_port(settings: PortSettings) -> Link:
    """Open a port. A device file is opened in a thread, because opening it can block.

    If the call is cancelled while the port is being opened, the port is closed again.

    Raises:
        PortLost: if the port does not exist, is in use, or access is denied.
    """
    if settings.address is not None:
        return await open_address(settings.address, settings.line, settings.flow_control)
    opening = asyncio.ensure_future(asyncio.to_thread(_open_device, settings))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        with contextlib.suppress(PortLost):
            (await opening).close()
        raise


def _open_device(settings: PortSettings) -> SerialLink:
    return SerialLink(
        path_of(settings),
        settings.line,
        flow_control=settings.flow_control,
        low_latency=settings.low_latency,
        control_lines=(settings.dtr, settings.rts),
        rs485=settings.rs485,
    )
