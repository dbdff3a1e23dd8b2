"""The notation of the packet vectors: hexadecimal digits, 'text', and the length of what follows.

``frame("10", "0004 'MQTT' 04 02 003c 0000")`` is a first byte and a body; the remaining length
(below 128) is put between them. Written without the code under test.
"""

import re

_TOKEN = re.compile(r"'([^']*)'|([0-9a-fA-F]+)|(\S)")


def octets(text: str) -> bytes:
    """Bytes of the notation."""
    parts: list[bytes] = []
    for match in _TOKEN.finditer(text):
        quoted, digits, other = match.groups()
        assert other is None, f"{other!r} in {text!r}: expected hexadecimal digits or 'text'"
        parts.append(quoted.encode() if quoted is not None else bytes.fromhex(digits))
    return b"".join(parts)


def frame(first: str, body: str) -> bytes:
    """A whole packet with a remaining length of one byte."""
    content = octets(body)
    assert len(content) < 128, f"a body of {len(content)} bytes: write its length out"
    return octets(first) + bytes([len(content)]) + content
