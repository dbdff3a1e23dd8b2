"""Messages that meters push, built for the tests: data, notifications, ciphers, frames."""

import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from firmware_bridge.protocols.checksums import crc16_x25

KEY = bytes(range(16))
AUTHENTICATION_KEY = bytes(range(0xD0, 0xE0))
TITLE = bytes.fromhex("4D4D4D0000BC614E")
WH, W, V, A = 30, 27, 35, 33


def obis(*parts: int) -> bytes:
    return bytes((9, 6, *parts))


def u32(value: int) -> bytes:
    return b"\x06" + value.to_bytes(4)


def u16(value: int) -> bytes:
    return b"\x12" + value.to_bytes(2)


def text(value: str) -> bytes:
    return bytes((10, len(value))) + value.encode()


def octets(value: bytes) -> bytes:
    return bytes((9, len(value))) + value


def scale(power: int, unit: int) -> bytes:
    return b"\x02\x02\x0f" + struct.pack(">b", power) + bytes((0x16, unit))


def time(year: int = 2026) -> bytes:
    return b"\x09\x0c" + year.to_bytes(2) + bytes((11, 26, 4, 10, 42, 5, 0xFF, 0x80, 0, 0))


def structure(*elements: bytes) -> bytes:
    return bytes((2, len(elements))) + b"".join(elements)


def array(*elements: bytes) -> bytes:
    return bytes((1, len(elements))) + b"".join(elements)


def notification(data: bytes, when: bytes = b"\x00") -> bytes:
    return b"\x0f\x40\x00\x00\x00" + when + data


def length(count: int) -> bytes:
    return bytes((count,)) if count < 128 else b"\x82" + count.to_bytes(2)


def ciphered(message: bytes, *, counter: int = 1, security: int = 0x30) -> bytes:
    """Encrypt a message.

    The result ends with an authentication tag if the security byte requires one.
    """
    number = counter.to_bytes(4)
    covered = bytes((security,)) + AUTHENTICATION_KEY
    content = AESGCM(KEY).encrypt(TITLE + number, message, covered)
    content = content[:-4] if security & 0x10 else content[:-16]
    body = bytes((security,)) + number + content
    return b"\xdb\x08" + TITLE + length(len(body)) + body


def hdlc(part: bytes, *, is_first: bool = True, is_last: bool = True) -> bytes:
    part = (b"\xe6\xe7\x00" if is_first else b"") + part
    size = 2 + 1 + 2 + 1 + 2 + len(part) + 2
    head = struct.pack(">H", 0xA000 | (0 if is_last else 0x800) | size) + b"\x41\x08\x83\x13"
    head += crc16_x25(head).to_bytes(2, "little")
    content = head + part
    return b"\x7e" + content + crc16_x25(content).to_bytes(2, "little") + b"\x7e"


def mbus(part: bytes, number: int, *, is_last: bool) -> bytes:
    content = bytes((0x53, 0xFF, number | (0x10 if is_last else 0), 0x01, 0x67)) + part
    size = bytes((len(content),))
    return b"h" + size + size + b"h" + content + bytes((sum(content) & 0xFF, 0x16))


def block(part: bytes, number: int, *, is_last: bool) -> bytes:
    head = bytes((0xE0, 0xC0 if is_last else 0x40)) + number.to_bytes(2) + b"\0\0"
    return head + length(len(part)) + part


AIDON = notification(
    array(
        structure(obis(1, 1, 0, 2, 129, 255), text("AIDON_V0001")),
        structure(obis(0, 0, 1, 0, 0, 255), time()),
        structure(obis(1, 0, 1, 7, 0, 255), u32(1255), scale(0, W)),
        structure(obis(1, 0, 32, 7, 0, 255), u16(2334), scale(-1, V)),
        structure(obis(1, 0, 31, 7, 0, 255), b"\x10\x00\x1b", scale(-1, A)),
        structure(obis(1, 0, 1, 8, 0, 255), u32(123456), scale(1, WH)),
    )
)
