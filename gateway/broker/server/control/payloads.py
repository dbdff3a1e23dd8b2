"""Creation of payload previews: a payload's first bytes, as a string if they are UTF-8."""

import codecs
from typing import Any, Final

PAYLOAD_BYTES_SHOWN: Final = 256
"""Number of bytes in the preview of a UTF-8 payload: a reading, or enough of a document to
recognise it. A list of 500 topics is then smaller than the longest answer."""
BINARY_BYTES_SHOWN: Final = 32
"""Number of bytes in the hexadecimal preview of a payload that is not UTF-8."""


def payload_of(start: bytes, size_bytes: int) -> dict[str, Any]:
    """Return the preview of a payload as an object with `text` or `hex`, and `bytes`.

    `bytes` is the size of the payload. `text` is None if the payload is not UTF-8, otherwise `hex`
    is None.

    Args:
        start: the whole payload, or at least its first PAYLOAD_BYTES_SHOWN bytes.
        size_bytes: size of the whole payload.
    """
    is_whole = size_bytes <= PAYLOAD_BYTES_SHOWN
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        # The last character may be cut.
        text = decoder.decode(start[:PAYLOAD_BYTES_SHOWN], final=is_whole)
    except UnicodeDecodeError:
        return {"text": None, "hex": start[:BINARY_BYTES_SHOWN].hex(), "bytes": size_bytes}
    return {"text": text, "hex": None, "bytes": size_bytes}
