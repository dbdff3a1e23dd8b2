"""Calculation of the memory that objects take, used for limits in bytes."""


def text_bytes_of(text: str) -> int:
    """Return the maximum memory size of a string's characters in bytes.

    A single character beyond U+FFFF makes every character take four bytes.
    """
    return len(text) if text.isascii() else 4 * len(text)
