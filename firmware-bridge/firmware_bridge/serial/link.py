"""Reads and writes the bytes of an open serial port. If the port is lost, `PortLost` is raised.

`Link` waits for bytes on any file descriptor. `SerialLink` is a device file or a pseudo-terminal.
pyserial opens it exclusively, because two readers would each get only a part of the bytes. Ports at
a TCP address are in `network.py`.
"""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import serial

from firmware_bridge.serial.port_errors import sentence_of
from gateway.process.declarations.serial_line import ControlLine, FlowControl, Line, Rs485

# Bytes per read of a port: 13 ms at 3 MBaud. A decoder needs at most a few milliseconds for them,
# and then another port is served.
READ_BYTES = 4096
# Opening clears the kernel's buffer, so bytes received sooner than this are the end of a frame.
MID_LINE_SECONDS = 0.02

# linux/include/uapi/asm-generic/ioctls.h
_TIOCGICOUNT = 0x545D
_TIOCSRS485 = 0x542F
# struct serial_icounter_struct: 11 counters, and 9 reserved fields.
_COUNTERS = struct.Struct("11i36x")
_COUNTERS_OF_ERRORS = {"framing": 6, "overrun": 7, "parity": 8, "break": 9, "buffer_overrun": 10}
"""Positions of the error counters in `serial_icounter_struct`."""

# struct serial_rs485 (linux/serial.h): flags, two delays in ms, and reserved fields.
_RS485 = struct.Struct("3I20x")
_RS485_ENABLED, _RTS_ON_SEND, _RTS_AFTER_SEND = 1, 2, 4


class PortLost(Exception):
    """Raised if the port was lost or cannot be opened. The message is written for the operator."""


class Link(ABC):
    """An open port, at the device file or address `path`."""

    mid_line_seconds: float = 0.0
    """Seconds after opening within which received bytes may be the end of an incomplete frame."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def read(self) -> bytes:
        """Wait until bytes are received, and return them.

        Raises:
            PortLost: if the port was lost.
        """
        loop = asyncio.get_running_loop()
        while True:
            try:
                data = self._receive()
            except BlockingIOError:
                await self._wait_readable(loop)
                continue
            if data:
                return data
            # Some drivers return no bytes both when none were received yet and when the device is
            # gone. If the descriptor is readable and there are still no bytes, the device is gone.
            await self._wait_readable(loop)
            if self._is_gone():
                raise PortLost(f"{self.path} was disconnected")

    def read_pending(self) -> bytes:
        """Return the bytes received so far, without waiting. The result may be empty.

        Raises:
            PortLost: if the port was lost.
        """
        try:
            return self._receive()
        except BlockingIOError:
            return b""

    @abstractmethod
    def write(self, data: bytes) -> bool:
        """Write without waiting. Return False if the port did not accept all bytes."""

    def set_baud_rate(self, baud_rate: int) -> None:  # noqa: B027 - a connection has no rate
        """Change the baud rate. If the connection has no serial line, this does nothing."""

    @abstractmethod
    def close(self) -> None:
        """Close the port."""

    def line_errors(self) -> Mapping[str, int]:
        """Return the counters of line errors, keyed by name. Only their changes are meaningful.

        `overrun` and `buffer_overrun` count bytes that were lost because the buffer of the chip
        or of the driver was full. The result is empty if the port does not count errors.
        """
        return {}

    @abstractmethod
    def _descriptor(self) -> int: ...

    @abstractmethod
    def _receive(self) -> bytes:
        """Read the received bytes. Can raise PortLost, or BlockingIOError if there are no bytes."""

    def _is_gone(self) -> bool:
        """Return True if the port is lost. A lost port is readable but has no bytes."""
        return False

    async def _wait_readable(self, loop: asyncio.AbstractEventLoop) -> None:
        readable = loop.create_future()
        descriptor = self._descriptor()
        loop.add_reader(descriptor, _finish, readable)
        try:
            await readable
        finally:
            loop.remove_reader(descriptor)


class SerialLink(Link):
    """A serial port that is a device file or a pseudo-terminal of this machine."""

    def __init__(
        self,
        path: str,
        line: Line,
        *,
        flow_control: FlowControl = "none",
        low_latency: bool = True,
        rs485: Rs485 | None = None,
        control_lines: tuple[ControlLine, ControlLine] = ("on", "on"),
    ) -> None:
        """Open the port, which may block. The argument `control_lines` configures DTR and RTS.

        Raises:
            PortLost: if the port cannot be opened, is in use, or does not support RS-485 mode.
        """
        super().__init__(path)
        # A sensor also sends while the port is closed. The writer of a pseudo-terminal waits.
        is_terminal = os.path.realpath(path).startswith("/dev/pts/")
        self.mid_line_seconds = 0.0 if is_terminal else MID_LINE_SECONDS
        try:
            self._port = _opened(
                path,
                control_lines,
                baudrate=line.baud_rate,
                # A pseudo-terminal supports only these values, and may refuse others.
                bytesize=8 if is_terminal else line.data_bits,
                parity="N" if is_terminal else line.parity,
                stopbits=line.stop_bits,
                rtscts=flow_control == "rts_cts",
                xonxoff=flow_control == "xon_xoff",
            )
        except (OSError, ValueError, termios.error) as error:
            raise PortLost(sentence_of(path, error)) from error
        if not is_terminal:
            self._refuse_others()
        if low_latency:
            self._ask_for_low_latency()
        if rs485 is not None:
            self._switch_direction(rs485)

    def _ask_for_low_latency(self) -> None:
        # Most drivers other than FTDI's and 8250 do not support the low-latency mode.
        with contextlib.suppress(ValueError, OSError):
            self._port.set_low_latency_mode(True)

    def _refuse_others(self) -> None:
        """Make the kernel deny other programs access to the port.

        This is needed because some programs ignore pyserial's lock. Do not call this for a
        pseudo-terminal. It would stay locked until the program at its other end closes it.
        """
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._port.fileno(), termios.TIOCEXCL)

    def _switch_direction(self, rs485: Rs485) -> None:
        """Enable RS-485 mode. Raises PortLost if the driver does not support this mode."""
        level = _RTS_ON_SEND if rs485.rts == "high" else _RTS_AFTER_SEND
        delays = (rs485.delay_before_send_seconds, rs485.delay_after_send_seconds)
        asked = _RS485.pack(_RS485_ENABLED | level, *(round(1000 * each) for each in delays))
        try:
            fcntl.ioctl(self._port.fileno(), _TIOCSRS485, asked)
        except OSError as error:
            self._port.close()
            raise PortLost(
                f"{self.path}: its driver has no RS-485 mode ({error.strerror}); leave rs485 out "
                "where the adapter switches the direction by itself"
            ) from error

    def write(self, data: bytes) -> bool:
        """Write without waiting. Return False if the port did not accept all bytes."""
        try:
            return os.write(self._port.fileno(), data) == len(data)
        except OSError:
            return False  # The next read finds out that the port is lost.

    def set_baud_rate(self, baud_rate: int) -> None:
        """Change the baud rate. Raises PortLost if the port does not accept the rate."""
        if self._port.baudrate == baud_rate:
            return
        try:
            self._port.baudrate = baud_rate
        except (OSError, ValueError, termios.error) as error:
            raise PortLost(sentence_of(self.path, error)) from error

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def line_errors(self) -> Mapping[str, int]:
        """Return the driver's error counters since the device was connected."""
        try:
            found = fcntl.ioctl(self._port.fileno(), _TIOCGICOUNT, bytes(_COUNTERS.size))
        except OSError:
            return {}
        counters = _COUNTERS.unpack(found)
        return {name: counters[at] for name, at in _COUNTERS_OF_ERRORS.items()}

    def _descriptor(self) -> int:
        return int(self._port.fileno())

    def _receive(self) -> bytes:
        try:
            return os.read(self._port.fileno(), READ_BYTES)
        except BlockingIOError:
            raise
        except OSError as error:
            raise PortLost(sentence_of(self.path, error)) from error

    def _is_gone(self) -> bool:
        try:
            return not self._port.in_waiting
        except OSError:
            return True


class _Port(serial.Serial):
    """A pyserial port that can leave DTR or RTS as the driver has set them."""

    leaves_dtr = leaves_rts = False

    def _update_dtr_state(self) -> None:
        if not self.leaves_dtr:
            super()._update_dtr_state()  # type: ignore[misc]

    def _update_rts_state(self) -> None:
        if not self.leaves_rts:
            super()._update_rts_state()  # type: ignore[misc]


def _opened(path: str, control_lines: tuple[ControlLine, ControlLine], **keys: Any) -> _Port:
    """Open a port with pyserial. The keyword arguments `keys` are passed on to pyserial.

    `control_lines` are the settings of DTR and RTS. Many boards restart when these lines change.
    Linux raises both lines when it opens a device. A line with the setting `off` is lowered
    immediately afterwards. When the port is closed, Linux normally lowers both lines. This is
    disabled (by clearing HUPCL) unless both settings are `on`.

    Raises OSError, ValueError or termios.error if the port cannot be opened.
    """
    dtr, rts = control_lines
    port = _Port(None, timeout=0, exclusive=True, **keys)
    port.dtr, port.rts = dtr != "off", rts != "off"
    port.leaves_dtr, port.leaves_rts = dtr == "leave", rts == "leave"
    port.port = path
    port.open()
    if control_lines != ("on", "on"):
        attributes = termios.tcgetattr(port.fileno())
        attributes[2] &= ~termios.HUPCL
        termios.tcsetattr(port.fileno(), termios.TCSANOW, attributes)
    return port


def _finish(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)
