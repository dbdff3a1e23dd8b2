"""Hot plugging: a lost port is retried as soon as udev has set up a serial device.

A datagram on udev's netlink socket has this format (systemd,
libsystemd/sd-device/device-monitor.c). Integers are native-endian, except the magic number::

    "libudev\\0" | magic u32 | header size u32 | properties offset u32 | properties length u32 | ...
    properties: "ACTION=add\\0" "SUBSYSTEM=tty\\0" ...

The bridge does not need to trust the contents of an event. Only a privileged process can send to
this socket, and the only effect of an event is that a port is opened again. Without udev, as in
most containers, a lost port is retried only after its back-off
(docs/decisions/0114-udev-s-events-are-read-without-libudev.md).
"""

import asyncio
import errno
import logging
import socket
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

from gateway.process.files.disk_errors import line_of
from gateway.process.mqtt_client.backoff import Backoff

logger = logging.getLogger(__name__)

# Exists while udev runs. Without udev the netlink socket can be opened, but receives nothing.
UDEV_CONTROL = Path("/run/udev/control")
# linux/netlink.h. The group of the events that udev has processed: links and permissions are set.
NETLINK_KOBJECT_UEVENT = 15
UDEV_GROUP = 2
# The limit that libudev uses for a datagram. Only long properties of a device are truncated.
DATAGRAM_BYTES_MAX = 8192
# Maximum number of datagrams that are read each time the socket is readable. A hub may have many
# devices, and the ports must be served too.
DATAGRAMS_AT_ONCE_MAX = 64
# Delay before a port is retried. The devices of a hub appear together, and a device that connects
# again and again must not cause more attempts than this allows.
SETTLE_SECONDS = 0.05

_HEADER = struct.Struct("=8s4sII")
_PREFIX, _MAGIC = b"libudev\0", bytes.fromhex("feedcafe")


class HotPlug:
    """Context manager that detects new serial devices and wakes tasks that wait for a lost port."""

    def __init__(self, events: socket.socket | None) -> None:
        """Store udev's socket, from which events will be read.

        If `events` is None, ports are retried only after their back-off.
        """
        self._events = events
        self._waiting: set[asyncio.Future[None]] = set()
        self.arrivals = 0

    async def __aenter__(self) -> Self:
        """Start reading udev's events in the running event loop."""
        if self._events is not None:
            asyncio.get_running_loop().add_reader(self._events.fileno(), self._receive)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop reading events, and close the socket."""
        self._stop()

    async def wait(self, backoff: Backoff, *, since: int) -> None:
        """Wait until the back-off is over or a new serial device has appeared.

        The argument `since` is an earlier value of the counter `arrivals`, which rises when new
        devices appear. A device that has appeared since then also ends the wait. After a new device
        has appeared, the back-off is reset, and the method returns after `SETTLE_SECONDS`.
        """
        if self.arrivals == since:
            await self._wait_for_one(backoff)
        if self.arrivals != since:
            backoff.reset()
            await asyncio.sleep(SETTLE_SECONDS)

    async def _wait_for_one(self, backoff: Backoff) -> None:
        arrived = asyncio.get_running_loop().create_future()
        pausing = asyncio.create_task(backoff.wait())
        self._waiting.add(arrived)
        try:
            await asyncio.wait({arrived, pausing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.discard(arrived)
            pausing.cancel()
            await asyncio.gather(pausing, return_exceptions=True)

    def _receive(self) -> None:
        assert self._events is not None, "it is read while it is open"
        has_come = False
        try:
            for _ in range(DATAGRAMS_AT_ONCE_MAX):
                has_come |= is_serial_device(self._events.recv(DATAGRAM_BYTES_MAX))
        except BlockingIOError:
            pass
        except OSError as error:
            # The kernel had no room for an event (ENOBUFS): it may have been that of a port.
            has_come = True
            if error.errno != errno.ENOBUFS:
                logger.warning(
                    "udev's events cannot be read (%s): ports are polled", line_of(error)
                )
                self._stop()
        if has_come:
            self._wake()

    def _wake(self) -> None:
        self.arrivals += 1
        for arrived in self._waiting:
            if not arrived.done():
                arrived.set_result(None)

    def _stop(self) -> None:
        if self._events is not None:
            asyncio.get_running_loop().remove_reader(self._events.fileno())
            self._events.close()
            self._events = None


def open_udev_events() -> socket.socket | None:
    """Open the socket for udev's events.

    The result is None if udev is not running or the socket cannot be opened. The reason is logged.
    """
    if not UDEV_CONTROL.exists():
        logger.info(
            "udev is not running (%s): the bridge polls for lost serial ports", UDEV_CONTROL
        )
        return None
    try:
        events = open_netlink()
    except OSError as error:
        logger.warning(
            "udev's events are refused (%s): the bridge polls for lost serial ports; "
            "allow AF_NETLINK in the unit's RestrictAddressFamilies",
            line_of(error),
        )
        return None
    return events


def open_netlink() -> socket.socket:
    """Open a non-blocking netlink socket for udev's events. Raises OSError if this is refused."""
    events = socket.socket(
        socket.AF_NETLINK,
        socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC,
        NETLINK_KOBJECT_UEVENT,
    )
    try:
        events.bind((0, UDEV_GROUP))
    except OSError:
        events.close()
        raise
    return events


def is_serial_device(datagram: bytes) -> bool:
    """Return True if a datagram from udev reports that a serial device is present.

    The result is False for any other event, and for a malformed datagram.
    """
    if len(datagram) < _HEADER.size:
        return False
    prefix, magic, _, offset = _HEADER.unpack_from(datagram)
    if prefix != _PREFIX or magic != _MAGIC or offset < _HEADER.size:
        return False
    properties = datagram[offset:].split(b"\0")
    return b"SUBSYSTEM=tty" in properties and b"ACTION=remove" not in properties
