"""Modbus TCP (Modbus Messaging on TCP/IP 1.0b): messages in a stream, with big-endian integers::

    transaction u16 | protocol u16 = 0 | length u16 | unit u8 | request or response

`length` counts the bytes after the length field. A response repeats the transaction and the unit of
its request, so late responses are recognized. Some servers always respond with transaction 0.
"""

import struct
from typing import Final

from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.modbus_answer import Block

MESSAGE_BYTES_MAX: Final = 260
"""Maximum bytes of a message in the standard."""
LATE_ANSWERS_MAX: Final = 8
"""Maximum number of responses to earlier requests that are skipped while the port waits for a
response. Without this limit, a server that sends endlessly would keep the port busy."""
_HEAD: Final = struct.Struct(">HHHB")
# The shortest message has a unit, a function and one more byte.
_LENGTH_MIN: Final = 3
_LENGTH_AT: Final = 6
_TRANSACTIONS: Final = 1 << 16


class NotModbusTcp(ValueError):
    """Error raised if bytes are not valid Modbus TCP. Its message describes the mistake."""


class MessageStream:
    """Buffer that splits the bytes of a connection into complete messages.

    It contains at most one partial message.
    """

    def __init__(self) -> None:
        self._buffer = b""

    @property
    def has_begun(self) -> bool:
        """True while a partial message is in the buffer."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> bytes:
        """Process received bytes. Return the messages that are now complete, concatenated.

        Raises:
            NotModbusTcp: if the bytes are invalid. The start of the next message is then unknown.
        """
        self._buffer += data
        at = 0
        while (end := _end_of(self._buffer, at)) is not None and end <= len(self._buffer):
            at = end
        whole, self._buffer = self._buffer[:at], self._buffer[at:]
        return whole


def _end_of(data: bytes, at: int) -> int | None:
    """Return the position after the message that begins at `at`.

    Return None if the header of the message is incomplete.

    Raises:
        NotModbusTcp: if the header is invalid.
    """
    if len(data) - at < _LENGTH_AT:
        return None
    protocol, length = (int.from_bytes(data[each : each + 2]) for each in (at + 2, at + 4))
    if protocol != 0:
        raise NotModbusTcp(
            f"protocol identifier {protocol} where Modbus TCP has 0; a serial server that passes "
            "on the bytes of a line needs rtu+tcp://"
        )
    if not _LENGTH_MIN <= length <= MESSAGE_BYTES_MAX - _LENGTH_AT:
        raise NotModbusTcp(
            f"a message of {length} bytes after its head, and not {_LENGTH_MIN} to "
            f"{MESSAGE_BYTES_MAX - _LENGTH_AT}"
        )
    return at + _LENGTH_AT + length


class Tcp:
    """The framing of requests and responses on a Modbus TCP connection.

    `is_numbered` is True if the server has repeated a transaction. Until then, transaction 0 is
    accepted in responses, and late responses are not recognized.
    """

    def __init__(self) -> None:
        self._transaction = 0
        self.is_numbered = False

    def message_of(self, block: Block) -> bytes:
        """Return the message that requests a block. `read` expects the response to this message."""
        self._transaction = (self._transaction + 1) % _TRANSACTIONS
        request = block.request
        return _HEAD.pack(self._transaction, 0, len(request) + 1, block.address) + request

    def answer_bytes_of(self, block: Block) -> int:
        """Return the number of bytes in a complete response.

        Bytes of late responses to earlier requests are not counted.
        """
        return _HEAD.size + block.answer_bytes

    def read(self, received: bytes, block: Block) -> bytes | Damage | None:
        """Return the response in the bytes received so far, or None if more bytes are needed."""
        at = 0
        try:
            while (end := _end_of(received, at)) is not None and end <= len(received):
                transaction, _, _, unit = _HEAD.unpack_from(received, at)
                if transaction == self._transaction or not (transaction or self.is_numbered):
                    self.is_numbered = self.is_numbered or transaction != 0
                    answer = received[at + _HEAD.size : end]
                    return answer if unit == block.address else Damage("address")
                at = end
        except NotModbusTcp:
            return Damage("noise")
        return None

    def timed_out(self, received: bytes, block: Block) -> Damage:
        """Return the reason "no_answer".

        `received` is ignored, because it can only contain late responses to earlier requests.
        """
        return Damage("no_answer")
