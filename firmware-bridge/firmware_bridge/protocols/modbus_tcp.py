"""Modbus TCP (Modbus Messaging on TCP/IP 1.0b): messages in a stream, all numbers big-endian::

    transaction u16 | protocol u16 = 0 | length u16 | unit u8 | request or answer

`length` counts what follows it. An answer repeats transaction and unit of its request, so that a
late one is recognised.
"""

import struct
from typing import Final

from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.modbus_answer import Block

MESSAGE_BYTES_MAX: Final = 260
"""Bytes of a message, by the standard."""
LATE_ANSWERS_MAX: Final = 8
"""Answers to earlier requests that are passed over while one is awaited: with more, a server that
sends without end would keep the port busy."""
_HEAD: Final = struct.Struct(">HHHB")
# A unit, a function and one byte.
_LENGTH_MIN: Final = 3
_LENGTH_AT: Final = 6
_TRANSACTIONS: Final = 1 << 16


class NotModbusTcp(ValueError):
    """Bytes that cannot be Modbus TCP: one sentence for people."""


class MessageStream:
    """Cuts a connection's bytes into whole messages; keeps the beginning of at most one."""

    def __init__(self) -> None:
        self._buffer = b""

    @property
    def has_begun(self) -> bool:
        """True while a message has arrived in part."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> bytes:
        """Return the messages that these bytes complete, one after the other.

        Raises:
            NotModbusTcp: where the next message begins cannot be known any more.
        """
        self._buffer += data
        at = 0
        while (end := _end_of(self._buffer, at)) is not None and end <= len(self._buffer):
            at = end
        whole, self._buffer = self._buffer[:at], self._buffer[at:]
        return whole


def _end_of(data: bytes, at: int) -> int | None:
    """Return where the message that begins at `at` ends; None: its head is not whole."""
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
    """Messages of a connection."""

    def __init__(self) -> None:
        self._transaction = 0

    def message_of(self, block: Block) -> bytes:
        """Return the message that asks for a block, which `read` then takes the answer of."""
        self._transaction = (self._transaction + 1) % _TRANSACTIONS
        request = block.request
        return _HEAD.pack(self._transaction, 0, len(request) + 1, block.address) + request

    def answer_bytes_of(self, block: Block) -> int:
        """Return how many bytes are read until an answer is whole, without late ones."""
        return _HEAD.size + block.answer_bytes

    def read(self, received: bytes, block: Block) -> bytes | Damage | None:
        """Return the answer in the bytes received so far; None: more have to come."""
        at = 0
        try:
            while (end := _end_of(received, at)) is not None and end <= len(received):
                transaction, _, _, unit = _HEAD.unpack_from(received, at)
                if transaction == self._transaction:
                    answer = received[at + _HEAD.size : end]
                    return answer if unit == block.address else Damage("address")
                at = end
        except NotModbusTcp:
            return Damage("noise")
        return None

    def timed_out(self, received: bytes, block: Block) -> Damage:
        """Judge an answer that is not whole when its time is over; late ones are no answer."""
        return Damage("no_answer")
