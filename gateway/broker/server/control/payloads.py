"""Previews of payloads for the control socket: their first bytes, as text if they are UTF-8."""

import codecs
from typing import Any, Final

PAYLOAD_BYTES_SHOWN: Final = 256
"""First bytes of a payload that are shown as text: a reading, or enough of a document to know it.
A page of 500 topics stays below the size of an answer."""
BINARY_BYTES_SHOWN: Final = 32
"""The same of a payload that is not UTF-8, in hexadecimal."""


def payload_of(start: bytes, size_bytes: int) -> dict[str, Any]:
    """Return the preview of a payload.

    Args:
        start: the first PAYLOAD_BYTES_SHOWN bytes or more of it.
        size_bytes: its whole size.
    """
    is_whole = size_bytes <= PAYLOAD_BYTES_SHOWN
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        # The last character may be cut.
        text = decoder.decode(start[:PAYLOAD_BYTES_SHOWN], final=is_whole)
    except UnicodeDecodeError:
        return {"text": None, "hex": start[:BINARY_BYTES_SHOWN].hex(), "bytes": size_bytes}
    return {"text": text, "hex": None, "bytes": size_bytes}
