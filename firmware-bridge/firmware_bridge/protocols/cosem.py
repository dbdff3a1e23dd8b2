"""Units and texts of COSEM objects, which SML and DLMS messages have in common."""

from typing import Final

UNITS_OF_DLMS: Final = {
    4: "d", 5: "h", 6: "min", 7: "s", 8: "deg", 9: "Cel", 11: "m", 12: "m/s", 13: "m3", 14: "m3",
    15: "m3/h", 16: "m3/h", 19: "l", 20: "kg", 21: "N", 23: "Pa", 24: "bar", 25: "J", 27: "W",
    28: "VA", 29: "var", 30: "Wh", 31: "VAh", 32: "varh", 33: "A", 34: "C", 35: "V", 37: "F",
    38: "Ohm", 40: "Wb", 41: "T", 43: "H", 44: "Hz", 51: "S", 52: "K", 56: "%", 57: "Ah", 70: "dBm",
    72: "dB",
}  # fmt: skip
"""Units in SenML notation, keyed by DLMS code (DLMS UA 1000-1, table 4)."""


def text_of(value: bytes) -> str:
    """Return octets as a string, without the zeros and blanks that fill it up.

    If the octets are not printable ASCII, return hexadecimal digits.
    """
    text = value.rstrip(b"\0").decode("ascii", "replace")
    is_text = text.isascii() and text.isprintable() and not text.isspace()
    return text.strip() if text and is_text else value.hex()
