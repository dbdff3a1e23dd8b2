"""The notation of the packet vectors: hexadecimal digits, 'text', and computed lengths.

``frame("10", "0004 'MQTT' 04 02 003c 0000")`` has a first byte and a body; the remaining length
(below 128) is inserted between the two. This module does not use the code under test.
"""

import re

_TOKEN = re.compile(r"'([^']*)'|([0-9a-fA-F]+)|(\S)")


def octets(text: str) -> bytes:
    """Return the bytes that a string in this notation stands for."""
    parts: list[bytes] = []
    for match in _TOKEN.finditer(text):
        quoted, digits, other = match.groups()
        assert other is None, f"{other!r} in {text!r}: expected hexadecimal digits or 'text'"
        parts.append(quoted.encode() if quoted is not None else bytes.fromhex(digits))
    return b"".join(parts)


def frame(first: str, body: str) -> bytes:
    """Return a whole packet with a remaining length of one byte."""
    content = octets(body)
    assert len(content) < 128, f"a body of {len(content)} bytes: write its length out"
    return octets(first) + bytes([len(content)]) + content
