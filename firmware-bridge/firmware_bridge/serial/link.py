"""One open serial port: bytes in, bytes out, one exception when it is gone.

pyserial opens and sets the port up (exclusively: two readers would each get half of the bytes);
from then on the event loop watches the file descriptor. A pseudo-terminal works the same way.
"""

import asyncio
import os

import serial

from gateway.keys.serial_line import Line

# One read of a port: what comes at 3 MBaud in 13 ms. Decoders take at most some milliseconds for
# it, whatever it is, and then another port is served.
READ_BYTES = 4096


class PortLost(Exception):
    """The port is gone or cannot be opened: one sentence for people."""


class SerialLink:
    """The port at `path`, open until `close`."""

    def __init__(self, path: str, line: Line) -> None:
        """Open the port; this may block for a moment.

        Raises:
            PortLost: it is not there, not ours, or in use.
        """
        self.path = path
        try:
            self._port = serial.Serial(
                path,
                line.baud_rate,
                bytesize=line.data_bits,
                parity=line.parity,
                stopbits=line.stop_bits,
                timeout=0,
                exclusive=True,
            )
        except (OSError, ValueError) as error:
            raise PortLost(_sentence_of(path, error)) from error

    async def read(self) -> bytes:
        """Wait for bytes, and return them as soon as there are any.

        Raises:
            PortLost: the port is gone.
        """
        loop = asyncio.get_running_loop()
        while True:
            try:
                data = os.read(self._port.fileno(), READ_BYTES)
            except BlockingIOError:
                await self._wait_readable(loop)
                continue
            except OSError as error:
                raise PortLost(_sentence_of(self.path, error)) from error
            if data:
                return data
            # Some drivers answer "nothing" when there is nothing yet, and again and again when the
            # device is gone: readable, and yet nothing, is the second.
            if await self._wait_readable(loop) and not self._has_input():
                raise PortLost(f"{self.path} was disconnected")

    def read_pending(self) -> bytes:
        """Read the bytes received so far without waiting; there may be none.

        Raises:
            PortLost: the port is gone.
        """
        try:
            return os.read(self._port.fileno(), READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise PortLost(_sentence_of(self.path, error)) from error

    @property
    def may_cut_lines(self) -> bool:
        """A sensor sends whether or not the port is open; a pseudo-terminal's writer is here."""
        return not os.path.realpath(self.path).startswith("/dev/pts/")

    def write(self, data: bytes) -> bool:
        """Write; return False where the port does not take it now: the device has to ask again."""
        try:
            return os.write(self._port.fileno(), data) == len(data)
        except OSError:
            return False  # The reader finds that the port is lost.

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def _has_input(self) -> bool:
        try:
            return bool(self._port.in_waiting)
        except OSError:
            return False

    async def _wait_readable(self, loop: asyncio.AbstractEventLoop) -> bool:
        readable = loop.create_future()
        descriptor = self._port.fileno()
        loop.add_reader(descriptor, _finish, readable)
        try:
            await readable
        finally:
            loop.remove_reader(descriptor)
        return True


def _finish(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)


def _sentence_of(path: str, error: Exception) -> str:
    if isinstance(error, PermissionError) or getattr(error, "errno", None) == 13:
        return f"{path}: permission denied; add the bridge's user to the group that owns the port"
    if getattr(error, "errno", None) == 11:
        return f"{path} is used by another program; stop it, a port has one reader"
    return str(error)
