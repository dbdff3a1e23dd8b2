"""Calculation of the memory that objects take, used for limits in bytes."""


def text_bytes_of(text: str) -> int:
    """Return the maximum memory that a string's characters take, in bytes.

    An ASCII character takes one byte. If the string contains any other character, each of its
    characters takes up to four bytes.
    """
    return len(text) if text.isascii() else 4 * len(text)
