"""Decodes overheard Modbus messages. The numbers on the right are their function codes::

    address u8 | function u8 | first u16 | count or value u16 | crc16          request 1 to 6
    address u8 | function u8 | first u16 | count u16 | bytes u8 | ... | crc16  request 15, 16
    address u8 | function u8 | bytes u8 | values ... | crc16                   response 1 to 4
    address u8 | function u8 | first u16 | count or value u16 | crc16          response 5, 6, 15, 16
    address u8 | function u8 + 0x80 | exception u8 | crc16                     refusal

Silence separates messages on the line, but adapters and networks do not preserve the silence. A
message is therefore recognized by its CRC and the length that its function implies. The previous
message determines whether a message is a request or a response. Messages with other functions count
as noise. Source: Modbus application protocol 1.1b3.
"""

from dataclasses import dataclass
from typing import Final

from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.modbus_answer import READ_FUNCTIONS
from firmware_bridge.protocols.modbus_rtu import has_crc

MESSAGE_BYTES_MAX: Final = 256
_READS: Final = frozenset(READ_FUNCTIONS.values())
_WRITES_ONE: Final = frozenset({5, 6})
_WRITES_MANY: Final = frozenset({15, 16})
_KNOWN: Final = _READS | _WRITES_ONE | _WRITES_MANY
_EXCEPTION: Final = 0x80
_SHORT_BYTES = 8
_REFUSAL_BYTES = 5
_CRC_BYTES = 2
# Position of the byte count of the values in functions 15 and 16.
_COUNT_AT = 6


@dataclass(frozen=True, slots=True)
class Message:
    """A request or a response on the line.

    `content` contains the bytes between the function code and the CRC. If the message is a
    response, `request` is the request that it answers, or None if that request was not received.
    """

    address: int
    function: int
    content: bytes
    is_answer: bool
    request: "Message | None" = None

    @property
    def refusal(self) -> int | None:
        """The exception code of a refusal, or None for other messages."""
        return self.content[0] if self.function & _EXCEPTION else None

    @property
    def first(self) -> int:
        """The first register. Only valid for requests, and for responses to writes."""
        return int.from_bytes(self.content[:2])

    @property
    def count(self) -> int:
        """Number of registers or bits. Only valid for requests, and for responses to writes."""
        return 1 if self.function in _WRITES_ONE else int.from_bytes(self.content[2:4])

    @property
    def is_write(self) -> bool:
        """True for a request to write registers or coils, and for its response."""
        return self.function & ~_EXCEPTION not in _READS

    @property
    def values(self) -> bytes:
        """The bytes of the values that are read or written.

        The result is empty for messages without values: requests to read, responses to functions 15
        and 16, and refusals.
        """
        if self.function in _READS:
            return self.content[1:] if self.is_answer else b""
        return self.content[2:] if self.function in _WRITES_ONE else self.content[5:]


@dataclass(frozen=True, slots=True)
class _Form:
    """A possible interpretation of bytes as a message: its length, and whether it is a response."""

    length: int
    is_answer: bool


class ModbusTraffic:
    """Decoder of the messages on a Modbus line. Bytes may arrive in pieces of any size.

    At most one partial message is buffered, and the last request is remembered.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._request: Message | None = None
        # The first bytes may be the rest of a message.
        self._in_noise = True

    def feed(self, data: bytes) -> list[Message | Damage]:
        """Process received bytes. Return the complete messages and the damage found, in order."""
        self._buffer += data
        return self._scan(idle=False)

    def flush(self) -> list[Message | Damage]:
        """Return the messages that remain in the buffer. Call this when the line has become silent.

        A message that is still incomplete counts as damaged.
        """
        return self._scan(idle=True)

    def _scan(self, *, idle: bool) -> list[Message | Damage]:
        found: list[Message | Damage] = []
        while self._buffer:
            position, form = self._earliest_message() if self._in_noise else (0, self._whole_at(0))
            if form is not None:
                self._buffer = self._buffer[position:]
                found.append(self._take(form))
            elif self._in_noise:
                self._buffer = b"" if idle else self._buffer[position:]
                break
            elif self._is_open(0) and not idle:
                break
            else:
                reason = "truncated" if self._is_open(0) else "checksum"
                found.append(Damage(reason if self._forms_at(0) != [] else "noise"))
                self._in_noise = True
        return found

    def _earliest_message(self) -> tuple[int, _Form | None]:
        """Return the position and the form of the earliest complete message.

        The earliest message is the one that ends first. If no message is complete, the form is
        None, and the position is where the first incomplete message could begin, or the end of the
        buffer. The result does not depend on how the bytes were split into pieces.
        """
        best: tuple[int, int, _Form] | None = None
        open_at = len(self._buffer)
        for position in range(len(self._buffer)):
            if best is not None and position >= best[0]:
                break
            form = self._whole_at(position)
            if form is not None and (best is None or position + form.length < best[0]):
                best = (position + form.length, position, form)
            if self._is_open(position):
                open_at = min(open_at, position)
        return (open_at, None) if best is None else best[1:]

    def _whole_at(self, position: int) -> _Form | None:
        for form in self._forms_at(position) or ():
            if has_crc(self._buffer[position : position + form.length], form.length):
                return form
        return None

    def _is_open(self, position: int) -> bool:
        """Return True if more bytes could complete a message that begins at this position."""
        forms = self._forms_at(position)
        rest = len(self._buffer) - position
        return forms is None or any(each.length > rest for each in forms)

    def _forms_at(self, position: int) -> list[_Form] | None:
        """Return the possible forms of a message that begins at this position.

        Shorter forms come first. If two forms have the same length, the likelier form comes first.
        The result is None if more bytes are needed.
        """
        data = self._buffer[position : position + _COUNT_AT + 1]
        if len(data) < _REFUSAL_BYTES:
            return None
        function, forms = data[1], [_Form(_SHORT_BYTES, is_answer=False)]
        if function & _EXCEPTION:
            is_known = function & ~_EXCEPTION in _KNOWN
            return [_Form(_REFUSAL_BYTES, is_answer=True)] if is_known else []
        if function in _READS:
            forms.append(_Form(3 + data[2] + _CRC_BYTES, is_answer=True))
        elif function in _WRITES_ONE:
            # The response repeats the request.
            forms.append(_Form(_SHORT_BYTES, is_answer=True))
        elif function in _WRITES_MANY:
            if len(data) <= _COUNT_AT:
                return None
            long = _COUNT_AT + 1 + data[_COUNT_AT] + _CRC_BYTES
            forms = [_Form(long, is_answer=False), _Form(_SHORT_BYTES, is_answer=True)]
        else:
            return []
        is_awaited = self._request is not None and data[:2] == bytes(
            (self._request.address, self._request.function)
        )
        return sorted(
            (each for each in forms if each.length <= MESSAGE_BYTES_MAX),
            key=lambda each: (each.length, each.is_answer != is_awaited),
        )

    def _take(self, form: _Form) -> Message:
        data, self._buffer = self._buffer[: form.length], self._buffer[form.length :]
        self._in_noise = False
        request, self._request = self._request, None
        address, function = data[0], data[1]
        is_its_answer = (
            form.is_answer
            and request is not None
            and (request.address, request.function) == (address, function & ~_EXCEPTION)
        )
        message = Message(
            address,
            function,
            data[2:-_CRC_BYTES],
            form.is_answer,
            request if is_its_answer else None,
        )
        if not form.is_answer:
            self._request = message
        return message
