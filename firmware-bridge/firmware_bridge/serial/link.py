"""One open port: bytes in, bytes out, one exception when it is gone.

`Link` waits for bytes on a file descriptor, whichever it is; `SerialLink` is a device file that
pyserial opens and sets up, exclusively: two readers would each get half of the bytes. A
pseudo-terminal works the same way. What is behind a TCP address is in `network.py`.
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

from gateway.process.declarations.serial_line import ControlLine, FlowControl, Line, Rs485
from gateway.process.files.disk_errors import line_of

# One read of a port: what comes at 3 MBaud in 13 ms. Decoders take at most some milliseconds for
# it, whatever it is, and then another port is served.
READ_BYTES = 4096
# Opening empties the kernel's buffer; what comes sooner after it is the rest of a line.
MID_LINE_SECONDS = 0.02

# linux/include/uapi/asm-generic/ioctls.h
_TIOCGICOUNT = 0x545D
_TIOCSRS485 = 0x542F
# struct serial_icounter_struct: 11 counters, and 9 that are reserved.
_COUNTERS = struct.Struct("11i36x")
_COUNTERS_OF_ERRORS = {"framing": 6, "overrun": 7, "parity": 8, "break": 9, "buffer_overrun": 10}
"""Positions of what the driver counts."""

# struct serial_rs485 (linux/serial.h): flags, two delays in ms, and what is reserved.
_RS485 = struct.Struct("3I20x")
_RS485_ENABLED, _RTS_ON_SEND, _RTS_AFTER_SEND = 1, 2, 4


DENIED = "permission denied; add the bridge's user to the group that owns the port"


class PortLost(Exception):
    """The port is gone or cannot be opened: one sentence for people."""


class Link(ABC):
    """The port at `path`, open until `close`."""

    mid_line_seconds: float = 0.0
    """Seconds after the opening in which received bytes are the rest of a line."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def read(self) -> bytes:
        """Wait for bytes, and return them as soon as there are any.

        Raises:
            PortLost: the port is gone.
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
            # Some drivers answer "nothing" when there is nothing yet, and again and again when the
            # device is gone: readable, and yet nothing, is the second.
            await self._wait_readable(loop)
            if self._is_gone():
                raise PortLost(f"{self.path} was disconnected")

    def read_pending(self) -> bytes:
        """Read the bytes received so far without waiting; there may be none.

        Raises:
            PortLost: the port is gone.
        """
        try:
            return self._receive()
        except BlockingIOError:
            return b""

    @abstractmethod
    def write(self, data: bytes) -> bool:
        """Write; return False where the port does not take it now: the device has to ask again."""

    def set_baud_rate(self, baud_rate: int) -> None:  # noqa: B027 - a connection has no rate
        """Change the rate of the line, where there is a line that we set."""

    @abstractmethod
    def close(self) -> None:
        """Close the port."""

    def line_errors(self) -> Mapping[str, int]:
        """Return what was damaged or lost on the line, counted since some moment before.

        `overrun` and `buffer_overrun` are bytes that cannot be brought back: the chip's and the
        driver's buffer were full. None where the port does not count.
        """
        return {}

    @abstractmethod
    def _descriptor(self) -> int: ...

    @abstractmethod
    def _receive(self) -> bytes:
        """Take what is there. Raises `BlockingIOError` where that is nothing, and `PortLost`."""

    def _is_gone(self) -> bool:
        """Return True if there is nothing although the descriptor was readable."""
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
    """A device file."""

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
        """Open the port with DTR and RTS as `control_lines`; this may block for a moment.

        Raises:
            PortLost: it is not there, not ours, in use, or its driver has no RS-485 mode.
        """
        super().__init__(path)
        # A sensor sends whether or not the port is open; a pseudo-terminal's writer is here.
        is_terminal = os.path.realpath(path).startswith("/dev/pts/")
        self.mid_line_seconds = 0.0 if is_terminal else MID_LINE_SECONDS
        try:
            self._port = _opened(
                path,
                control_lines,
                baudrate=line.baud_rate,
                # A pseudo-terminal has no others, and refuses them where nothing else changes.
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
        # Drivers without it (most but FTDI's and 8250) refuse.
        with contextlib.suppress(ValueError, OSError):
            self._port.set_low_latency_mode(True)

    def _refuse_others(self) -> None:
        """Beside the lock of pyserial, which programs that ask for none do not see.

        The last to close a port ends it; of a pseudo-terminal the other end would keep it.
        """
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._port.fileno(), termios.TIOCEXCL)

    def _switch_direction(self, rs485: Rs485) -> None:
        """Run a function of the driver. Raises `PortLost`."""
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
        """Write; return False where the port does not take it now: the device has to ask again."""
        try:
            return os.write(self._port.fileno(), data) == len(data)
        except OSError:
            return False  # The reader finds that the port is lost.

    def set_baud_rate(self, baud_rate: int) -> None:
        """Change the rate. Raises `PortLost`."""
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
        """Return the driver's counters, since it found the device."""
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
    """A port whose DTR or RTS may be left as the driver has it."""

    leaves_dtr = leaves_rts = False

    def _update_dtr_state(self) -> None:
        if not self.leaves_dtr:
            super()._update_dtr_state()  # type: ignore[misc]

    def _update_rts_state(self) -> None:
        if not self.leaves_rts:
            super()._update_rts_state()  # type: ignore[misc]


def _opened(path: str, control_lines: tuple[ControlLine, ControlLine], **keys: Any) -> _Port:
    """Open a port.

    Linux itself raises DTR and RTS when it opens a device, and a line that is `off` is lowered
    right after. A port on which one of them is not `on` is closed without lowering them (HUPCL), so
    that a restart of the bridge is no edge for a board that restarts on one.

    Raises `OSError`, `ValueError` or `termios.error`.
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


def sentence_of(path: str, error: Exception) -> str:
    """Return a port's fault in a sentence, with the fix if there is one."""
    if isinstance(error, PermissionError) or getattr(error, "errno", None) == 13:
        return f"{path}: {DENIED}"
    if getattr(error, "errno", None) in (11, 16):
        return f"{path} is used by another program; stop it, a port has one reader"
    if isinstance(error, FileNotFoundError) or getattr(error, "errno", None) == 2:
        return f"{path}: no such port; `oncegate serial list` prints those that exist"
    if isinstance(error, termios.error):
        return f"{path} does not take the settings of the line: {error.args[-1]}"
    return line_of(error) or type(error).__name__
