"""Modbus RTU: messages on a serial line (Modbus over Serial Line 1.02)::

    address u8 | request or response | crc16 (little-endian)

When the sender changes on RS-485, a few bytes of noise can appear before a response or an echo.
These bytes are skipped. A response is valid if its address, function, length and CRC match. It may
have fewer registers than were requested.
"""

from typing import Final

from firmware_bridge.protocols.checksums import crc16_modbus
from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.modbus_answer import EXCEPTION, Block, is_short

NOISE_BYTES_MAX: Final = 8
_REFUSAL_BYTES = 5
# The address, the function and the length.
_HEAD_BYTES = 3
_CRC_BYTES = 2
_ADDRESS_BYTES = 1
_WRONG_CRC: Final = Damage("checksum")


class Rtu:
    """The framing of requests and responses on a serial line.

    `echo` is True if the adapter returns the bytes of each request before the response.
    """

    def __init__(self, *, echo: bool) -> None:
        self._echo = echo
        self._sent = b""

    def message_of(self, block: Block) -> bytes:
        """Return the message that requests a block. `read` expects the response to this message."""
        content = bytes((block.address,)) + block.request
        self._sent = content + crc16_modbus(content).to_bytes(_CRC_BYTES, "little")
        return self._sent

    def answer_bytes_of(self, block: Block) -> int:
        """Return the number of bytes in a complete response.

        If the adapter returns an echo, the number includes the bytes of the echo.
        """
        echo_bytes = len(self._sent) if self._echo else 0
        return echo_bytes + _ADDRESS_BYTES + block.answer_bytes + _CRC_BYTES

    def read(self, received: bytes, block: Block) -> bytes | Damage | None:
        """Return the response in the bytes received so far, or None if more bytes are needed."""
        if self._echo and len(received) <= len(self._sent) and self._sent.startswith(received):
            return None
        # Also if no echo is configured: a request for registers 0x0300 to 0x03FF is a valid
        # response of three bytes.
        received = self._without_echo(received)
        found = _answer_in(received, block)
        if found == _WRONG_CRC and received[: len(self._sent)] == self._sent[: len(received)]:
            return None  # An echo, which is not configured, can begin like a response.
        return found

    def timed_out(self, received: bytes, block: Block) -> Damage:
        """Return the reason why no complete response arrived before the timeout."""
        received = self._without_echo(received)
        if not received:
            return Damage("no_answer")
        return Damage("truncated" if received[0] == block.address else "noise")

    def _without_echo(self, received: bytes) -> bytes:
        """Remove the echo of the request, and the noise before it, from received bytes."""
        at = received.find(self._sent, 0, NOISE_BYTES_MAX + len(self._sent))
        return received if at < 0 else received[at + len(self._sent) :]


def _answer_in(received: bytes, block: Block) -> bytes | Damage | None:
    whole = _ADDRESS_BYTES + block.answer_bytes + _CRC_BYTES
    head = bytes((block.address, block.function, block.value_bytes))
    refused = bytes((block.address, block.function | EXCEPTION))
    for skipped in range(min(NOISE_BYTES_MAX, len(received)) + 1):
        candidate = received[skipped:]
        for begin, length in ((head, whole), (refused, _REFUSAL_BYTES)):
            if candidate.startswith(begin) and has_crc(candidate[:length], length):
                return candidate[_ADDRESS_BYTES : length - _CRC_BYTES]
        if candidate.startswith(head[:-1]):
            short = (_other_answer_in(candidate) or b"")[_ADDRESS_BYTES:-_CRC_BYTES]
            if is_short(short, block):
                return short
    if received.startswith(head) and len(received) >= whole:
        return _WRONG_CRC
    return None if _other_answer_in(received) is None else Damage("address")


def _other_answer_in(received: bytes) -> bytes | None:
    """Return the response at the start of `received`, even if it does not match the request.

    The response is recognized by its length and its CRC. Return None if it is incomplete or
    invalid.
    """
    if len(received) < _REFUSAL_BYTES:
        return None
    is_refusal = bool(received[1] & EXCEPTION)
    length = _REFUSAL_BYTES if is_refusal else _HEAD_BYTES + received[2] + _CRC_BYTES
    found = received[:length]
    return found if has_crc(found, length) else None


def has_crc(data: bytes, length: int) -> bool:
    """Return True if the data has this length and ends with a valid CRC."""
    if len(data) != length:
        return False
    found = int.from_bytes(data[-_CRC_BYTES:], "little")
    return found == crc16_modbus(data[:-_CRC_BYTES])
