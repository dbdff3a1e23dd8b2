"""Checksums against the check values of the catalogue of CRC algorithms."""

import pytest
from firmware_bridge.protocols.checksums import CHECKSUMS

CHECK = b"123456789"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("crc16_arc", 0xBB3D),
        ("crc16_modbus", 0x4B37),
        ("crc16_ccitt_false", 0x29B1),
        ("crc16_xmodem", 0x31C3),
        ("crc16_kermit", 0x2189),
        ("crc16_x25", 0x906E),
        ("crc32", 0xCBF43926),
        ("sum8", sum(CHECK) & 0xFF),
        ("sum8_negated", 0x100 - (sum(CHECK) & 0xFF)),
        ("sum16", sum(CHECK)),
        ("sum16_negated", 0x10000 - sum(CHECK)),
        ("xor8", 0x31),
        ("none", 0),
    ],
)
def test_a_checksum_has_the_catalogue_s_check_value(name: str, value: int) -> None:
    assert CHECKSUMS[name].of(CHECK) == value
    assert value < 1 << 8 * CHECKSUMS[name].bytes_count or name == "none"
