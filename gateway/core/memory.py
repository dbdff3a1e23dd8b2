"""What things cost in memory, for the limits that are stated in bytes."""


def text_bytes_of(text: str) -> int:
    """Return how many bytes the characters of a text take, at the most.

    One character beyond U+FFFF makes all of them take four.
    """
    return len(text) if text.isascii() else 4 * len(text)
