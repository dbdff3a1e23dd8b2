"""The client side of RFC 2217, the Telnet option for serial ports. This module does no I/O.

::

    data, in which the byte 255 is doubled
    IAC(255) WILL(251) | WONT(252) | DO(253) | DONT(254)  option
    IAC(255) SB(250) 44 command value ... IAC(255) SE(240)

The code of a server's command is the client's code plus 100. pyserial has its own client, but the
client's thread reads all data into an unbounded queue. This queue would exhaust the memory while a
port is not read (docs/decisions/0108-rfc-2217-is-read-in-the-event-loop.md).
"""

from collections import Counter, deque
from typing import Final

from gateway.process.declarations.serial_line import FlowControl, Line

_IAC, _DONT, _DO, _WONT, _WILL, _SB, _SE = 255, 254, 253, 252, 251, 250, 240
_BINARY, _SUPPRESS_GO_AHEAD, _COM_PORT = 0, 3, 44
_SET_BAUD, _SET_DATA, _SET_PARITY, _SET_STOP, _SET_CONTROL = 1, 2, 3, 4, 5
_NOTIFY_LINE, _SUSPEND, _RESUME, _SET_LINE_MASK = 6, 8, 9, 10
_SERVER_OFFSET = 100
_PARITIES: Final = {"N": 1, "O": 2, "E": 3}
_CONTROLS: Final = {"none": 1, "xon_xoff": 2, "rts_cts": 3}
_LINE_ERRORS: Final = {2: "overrun", 4: "parity", 8: "framing", 16: "break"}
# The longest subnegotiation in the standard, except the signature, which is not requested.
SUBNEGOTIATION_BYTES_MAX = 256

Settings = dict[int, int]
"""Values of line settings, by the code of the RFC 2217 command that sets them."""


class NotRfc2217(Exception):
    """Raised if the server refuses RFC 2217 or a line setting. The message contains the reason."""


class Telnet:
    """The state of a Telnet connection to a serial port server.

    `errors` counts the line errors that the server reports. `suspended` is True while the server
    does not accept data. `take_replies` returns the bytes that must be sent to the server.
    """

    def __init__(self, line: Line, flow_control: FlowControl) -> None:
        self.wanted: Settings = {
            _SET_BAUD: line.baud_rate,
            _SET_DATA: line.data_bits,
            _SET_PARITY: _PARITIES[line.parity],
            _SET_STOP: line.stop_bits,
        }
        self._rates_asked: deque[int] = deque()
        """Requested baud rates that the server has not confirmed yet, the oldest first."""
        self._control = _CONTROLS[flow_control]
        self.confirmed: Settings = {}
        self.errors: Counter[str] = Counter()
        self.suspended = False
        self._state = "data"
        self._command = 0
        self._sub = bytearray()
        self._answered: set[tuple[int, int]] = set()
        self._replies = bytearray()
        for command, option in (
            (_WILL, _COM_PORT),
            (_WILL, _BINARY),
            (_DO, _BINARY),
            (_WILL, _SUPPRESS_GO_AHEAD),
            (_DO, _SUPPRESS_GO_AHEAD),
        ):
            self._replies += bytes((_IAC, command, option))

    @property
    def is_set_up(self) -> bool:
        """True if the server has confirmed the line's settings."""
        return self.confirmed.keys() >= self.wanted.keys()

    def change_baud_rate(self, baud_rate: int) -> None:
        """Request another baud rate from the server.

        Data that was written before the request is still sent at the old baud rate.
        """
        if self.wanted[_SET_BAUD] != baud_rate:
            self.wanted[_SET_BAUD] = baud_rate
            self._ask_setting(_SET_BAUD)

    def take_replies(self) -> bytes:
        """Return and clear the bytes that must be sent to the server."""
        replies, self._replies = bytes(self._replies), bytearray()
        return replies

    def escape(self, data: bytes) -> bytes:
        """Return the data with each byte 255 doubled, as it is sent over the connection."""
        return data.replace(b"\xff", b"\xff\xff")

    def feed(self, data: bytes) -> bytes:
        """Process bytes received in arbitrary pieces, and return the serial line's data.

        Raises:
            NotRfc2217: if the server does not support RFC 2217, or refuses a line setting.
        """
        if self._state == "data" and _IAC not in data:
            return data
        found = bytearray()
        for byte in data:
            if self._state == "data":
                if byte == _IAC:
                    self._state = "iac"
                else:
                    found.append(byte)
            elif self._state == "iac":
                self._take_command(byte, found)
            elif self._state == "option":
                self._state = "data"
                self._negotiate(self._command, byte)
            else:
                self._take_sub(byte)
        return bytes(found)

    def _take_command(self, byte: int, found: bytearray) -> None:
        self._state = "data"
        if byte == _IAC:
            found.append(byte)
        elif byte == _SB:
            self._state = "sub"
            self._sub.clear()
        elif byte in (_WILL, _WONT, _DO, _DONT):
            self._state, self._command = "option", byte

    def _take_sub(self, byte: int) -> None:
        if self._state == "sub_iac":
            self._state = "sub"
            if byte == _SE:
                self._state = "data"
                self._receive_sub(bytes(self._sub))
                return
        elif byte == _IAC:
            self._state = "sub_iac"
            return
        self._sub.append(byte)
        if len(self._sub) > SUBNEGOTIATION_BYTES_MAX:
            raise NotRfc2217("the server's Telnet command does not end")

    def _negotiate(self, command: int, option: int) -> None:
        if option == _COM_PORT and command in (_DONT, _WONT):
            raise NotRfc2217("the server refuses RFC 2217; for a raw connection use tcp://")
        if (command, option) in self._answered:
            return  # Each option is answered once, so that a negotiation cannot loop.
        self._answered.add((command, option))
        if option == _COM_PORT:
            if command == _DO:
                self._ask_settings()
        elif option not in (_BINARY, _SUPPRESS_GO_AHEAD):
            refusal = {_DO: _WONT, _WILL: _DONT}.get(command)
            if refusal is not None:
                self._replies += bytes((_IAC, refusal, option))

    def _ask_settings(self) -> None:
        for command in self.wanted:
            self._ask_setting(command)
        self._ask(_SET_CONTROL, bytes([self._control]))
        self._ask(_SET_LINE_MASK, bytes([sum(_LINE_ERRORS)]))

    def _ask_setting(self, command: int) -> None:
        value = self.wanted[command]
        if command == _SET_BAUD:
            self._rates_asked.append(value)
        self._ask(command, value.to_bytes(4 if command == _SET_BAUD else 1, "big"))

    def _ask(self, command: int, value: bytes) -> None:
        head = bytes((_IAC, _SB, _COM_PORT, command))
        self._replies += head + self.escape(value) + bytes((_IAC, _SE))

    def _receive_sub(self, sub: bytes) -> None:
        if len(sub) < 2 or sub[0] != _COM_PORT:
            return
        command, value = sub[1] - _SERVER_OFFSET, sub[2:]
        if command in self.wanted:
            found = int.from_bytes(value, "big")
            asked = self.wanted[command]
            if command == _SET_BAUD and self._rates_asked:
                asked = self._rates_asked.popleft()
            if found != asked:
                raise NotRfc2217(f"the server sets the line to {found}, but {asked} was requested")
            self.confirmed[command] = found
        elif command == _NOTIFY_LINE and value:
            self.errors.update(name for bit, name in _LINE_ERRORS.items() if value[0] & bit)
        elif command in (_SUSPEND, _RESUME):
            self.suspended = command == _SUSPEND
