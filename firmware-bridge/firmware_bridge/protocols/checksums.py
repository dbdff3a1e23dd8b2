"""Checksums of serial protocols, keyed by their names in the configuration.

CRC names follow the catalogue of parametrised CRC algorithms
(https://reveng.sourceforge.io/crc-catalogue/16.htm).
"""

from binascii import crc32, crc_hqx
from collections.abc import Callable, Mapping
from functools import reduce
from operator import xor
from typing import Final, NamedTuple

SEVEN_BITS: Final = bytes(range(128)) * 2
"""Table for `bytes.translate` that clears the parity bit of characters with 7 data bits."""
PARITY: Final = "parity"
"""Reason for damage if the line has 7 data bits, but is configured with 8."""
_WORD = 0xFFFF


def _table_of(polynomial: int) -> tuple[int, ...]:
    """Return the lookup table of a reflected 16-bit CRC with this polynomial."""
    table: list[int] = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (polynomial if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_TABLE_8005 = _table_of(0xA001)
_TABLE_1021 = _table_of(0x8408)


def _crc_of(data: bytes, crc: int, table: tuple[int, ...]) -> int:
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc


def crc16_arc(data: bytes) -> int:
    """Return the CRC-16/ARC of `data`. DSMR telegrams use this checksum."""
    return _crc_of(data, 0, _TABLE_8005)


def crc16_modbus(data: bytes) -> int:
    """Return the CRC-16/MODBUS of `data`."""
    return _crc_of(data, _WORD, _TABLE_8005)


def crc16_x25(data: bytes) -> int:
    """Return the CRC-16/IBM-SDLC of `data`, also called CRC-16/X-25. SML uses this checksum."""
    return _crc_of(data, _WORD, _TABLE_1021) ^ _WORD


def crc16_kermit(data: bytes) -> int:
    """Return the CRC-16/KERMIT of `data`. Some meters use this checksum with SML."""
    return _crc_of(data, 0, _TABLE_1021)


def xor8(data: bytes) -> int:
    """Return the XOR of all bytes, as NMEA 0183 and the BCC of IEC 62056-21 use it."""
    return reduce(xor, data, 0)


def xor8_of_text(text: str) -> int:
    """Return the XOR of the bytes of a line, in which bytes that are not UTF-8 are surrogates."""
    return xor8(text.encode("utf-8", "surrogateescape"))


class Checksum(NamedTuple):
    """A type of checksum: its size in bytes, and the function that computes it."""

    bytes_count: int
    of: Callable[[bytes], int]


CHECKSUMS: Final[Mapping[str, Checksum]] = {
    "none": Checksum(0, lambda data: 0),
    "sum8": Checksum(1, lambda data: sum(data) & 0xFF),
    "sum8_negated": Checksum(1, lambda data: -sum(data) & 0xFF),
    "xor8": Checksum(1, xor8),
    "sum16": Checksum(2, lambda data: sum(data) & _WORD),
    "sum16_negated": Checksum(2, lambda data: -sum(data) & _WORD),
    "crc16_arc": Checksum(2, crc16_arc),
    "crc16_modbus": Checksum(2, crc16_modbus),
    "crc16_ccitt_false": Checksum(2, lambda data: crc_hqx(data, _WORD)),
    "crc16_xmodem": Checksum(2, lambda data: crc_hqx(data, 0)),
    "crc16_kermit": Checksum(2, crc16_kermit),
    "crc16_x25": Checksum(2, crc16_x25),
    "crc32": Checksum(4, crc32),
}
